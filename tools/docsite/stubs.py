# SPDX-License-Identifier: Apache-2.0
"""Reference pages of the Python package `forebay`, from the stub of its module and its sources.

The stub is written by the build, so these pages need a built module.
"""

import ast
import importlib.util
from pathlib import Path

from docsite import links
from docsite.reference import Entry, Page, render

_FOLDER = "reference/python"
_PACKAGE = links.ROOT / "python" / "forebay"
_SOURCES = {
    "options": "Keyword arguments of calls",
    "exceptions": "Exceptions",
    "raw_file": "File objects",
}


def stub_of(module: str) -> Path:
    """The stub of an installed extension module."""
    found = importlib.util.find_spec(module)
    folder = Path(found.origin).parent if found and found.origin else None
    stub = folder / f"{module}-stubs" / "__init__.pyi" if folder else None
    if stub is None or not stub.exists():
        raise FileNotFoundError(f"find {module}.pyi: it is not built; run `make build`")
    return stub


def _function(node: ast.FunctionDef, is_property: bool) -> str:
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    if is_property:
        return f"{node.name}{returns.replace(' -> ', ': ')}"
    prefix = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    return f"{prefix}def {node.name}({ast.unparse(node.args)}){returns}"


def _member(node: ast.stmt) -> Entry | None:
    """A method, a property or an annotated attribute; None for what is private."""
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return Entry(node.target.id, [ast.unparse(node)], "", is_value=True)
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    is_special = node.name.startswith("__") and ast.get_docstring(node)
    if node.name.startswith("_") and not is_special:
        return None
    is_property = any(ast.unparse(one) == "property" for one in node.decorator_list)
    comment = ast.get_docstring(node) or ""
    return Entry(node.name, [_function(node, is_property)], comment, is_value=is_property)


def entries_of(source: str, names: set[str] | None = None) -> list[Entry]:
    """Public classes and functions with a docstring; only those in `names`, if given."""
    entries = []
    for node in ast.parse(source).body:
        name = getattr(node, "name", "_")
        if name.startswith("_") or (names is not None and name not in names):
            continue
        if isinstance(node, ast.ClassDef):
            bases = ", ".join(ast.unparse(one) for one in [*node.bases, *node.keywords])
            head = f"class {name}({bases})" if bases else f"class {name}"
            members = [one for one in map(_member, node.body) if one]
            entries.append(Entry(name, [head], ast.get_docstring(node) or "", members))
        elif isinstance(node, ast.FunctionDef):
            comment = ast.get_docstring(node) or ""
            entries.append(Entry(name, [_function(node, is_property=False)], comment))
    return entries


def pages() -> dict[str, str]:
    """The reference of Python by place on the site."""
    import forebay  # noqa: PLC0415: the pages of a tree without the module need no package

    stub = stub_of("_forebay").read_text(encoding="utf-8")
    described = [
        Page("index", "Python", "    import forebay", entries_of(stub, set(forebay.__all__)))
    ]
    for name, title in _SOURCES.items():
        source = (_PACKAGE / f"{name}.py").read_text(encoding="utf-8")
        head = ast.get_docstring(ast.parse(source)) or ""
        described.append(Page(name, title, head, entries_of(source)))
    rendered = render(described, "python")
    return {f"{_FOLDER}/{name}.md": text for name, text in rendered.items()}
