# SPDX-License-Identifier: Apache-2.0
"""Reference pages from the comments of public headers, parsed by libclang.

A header is a page: its head comment, then each type and function with its declaration as it is in
the source, and its comment. Members are those that are public. An overload without a comment stands
with the one before it.
"""

import re
import subprocess
import textwrap
from functools import cache
from pathlib import Path

from clang import cindex
from clang.cindex import CursorKind

from docsite import links
from docsite.reference import Entry, Page, render

INCLUDE = links.ROOT / "include"
_PUBLIC = INCLUDE / "forebay"
_FOLDER = "reference/cpp"
_RECORDS = {CursorKind.CLASS_DECL, CursorKind.STRUCT_DECL, CursorKind.CLASS_TEMPLATE}
_FUNCTIONS = {
    CursorKind.FUNCTION_DECL,
    CursorKind.FUNCTION_TEMPLATE,
    CursorKind.CXX_METHOD,
    CursorKind.CONSTRUCTOR,
    CursorKind.DESTRUCTOR,
    CursorKind.CONVERSION_FUNCTION,
}
_VALUES = {CursorKind.FIELD_DECL, CursorKind.VAR_DECL, CursorKind.ENUM_CONSTANT_DECL}
_ALIASES = {
    CursorKind.TYPE_ALIAS_DECL,
    CursorKind.TYPE_ALIAS_TEMPLATE_DECL,
    CursorKind.TYPEDEF_DECL,
    CursorKind.CONCEPT_DECL,
}
_SCOPES = {CursorKind.NAMESPACE, CursorKind.LINKAGE_SPEC, CursorKind.UNEXPOSED_DECL}
_NEEDS_BODY = _RECORDS | {CursorKind.ENUM_DECL}


@cache
def _system_includes() -> tuple[str, ...]:
    """Directories of the compiler's headers: the wheel of libclang has none."""
    command = ("g++", "-x", "c++", "-E", "-v", "/dev/null")
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    listed = done.stderr.split("<...> search starts here:\n", 1)[1].split("End of search", 1)[0]
    return tuple(f"-isystem{line.strip()}" for line in listed.splitlines())


def comment_text(raw: str | None) -> str:
    """The text of a comment, without its markers. Its relative indentation stays."""
    lines = [re.sub(r"^\s*(///?<?|/\*\*?<?|\*/|\*)", "", line) for line in (raw or "").splitlines()]
    return textwrap.dedent("\n".join(line.removesuffix("*/").rstrip() for line in lines)).strip(
        "\n"
    )


def declaration_text(source: str, is_function: bool) -> str:
    """The source of a declaration up to its body or its initializers of members."""
    depth = 0
    for place, char in enumerate(source):
        depth += (char in "([") - (char in ")]")
        is_list = is_function and char == ":" and "::" not in source[place - 1 : place + 2]
        if depth == 0 and (char == "{" or is_list):
            source = source[:place]
            break
    source = re.sub(r"\bFOREBAY_\w*EXPORT\b ?|\[\[nodiscard\]\] ?", "", source).strip("; \n")
    first, _, rest = source.partition("\n")
    return f"{first}\n{textwrap.indent(textwrap.dedent(rest), '    ')}" if rest else first


def _is_public(cursor) -> bool:
    access = cindex.AccessSpecifier
    return cursor.access_specifier in (access.PUBLIC, access.INVALID)


def _entry(cursor, source: bytes) -> Entry:
    text = source[cursor.extent.start.offset : cursor.extent.end.offset].decode()
    if cursor.kind not in _VALUES:
        text = f"{declaration_text(text, cursor.kind in _FUNCTIONS)};"
    comment = comment_text(cursor.raw_comment)
    entry = Entry(cursor.spelling, [text], comment, is_value=cursor.kind in _VALUES)
    if cursor.kind in _NEEDS_BODY:
        members = [one for one in cursor.get_children() if _is_public(one)]
        entry.members = _grouped([_entry(one, source) for one in members if _is_shown(one)])
    return entry


def _is_shown(cursor) -> bool:
    if cursor.kind in _NEEDS_BODY:
        return cursor.is_definition() and bool(cursor.spelling)
    if cursor.kind in _FUNCTIONS and cursor.spelling.startswith(("operator", "~")):
        return cursor.raw_comment is not None
    return cursor.kind in _FUNCTIONS | _VALUES | _ALIASES


def _grouped(entries: list[Entry]) -> list[Entry]:
    """Overloads without a comment join the one before them."""
    groups: list[Entry] = []
    for entry in entries:
        before = groups[-1] if groups else None
        if before and before.name == entry.name and not entry.comment:
            before.declarations += entry.declarations
        else:
            groups.append(entry)
    return groups


def _declarations(cursor, files: set[str]):
    for child in cursor.get_children():
        if child.location.file is None or child.location.file.name not in files:
            continue
        if child.kind in _SCOPES and child.spelling not in ("detail", "read"):
            yield from _declarations(child, files)
        elif _is_shown(child):
            yield child


def entries_of(headers: list[Path]) -> dict[Path, list[Entry]]:
    """The public declarations of headers in C++ that have a comment, in their order.

    A header that the parser does not accept is an error: its declarations would be incomplete.
    """
    words = ["-xc++", "-std=c++20", f"-I{INCLUDE}", *_system_includes()]
    program = ("program.cpp", "".join(f'#include "{header}"\n' for header in headers))
    unit = cindex.Index.create().parse(program[0], words, unsaved_files=[program])
    failed = [str(one) for one in unit.diagnostics if one.severity >= cindex.Diagnostic.Error]
    if failed and "'mpi.h' file not found" not in failed[0]:
        raise ValueError(f"parse headers: {failed[0]}")
    sources = {str(header): header.read_bytes() for header in headers}
    found: dict[Path, list[Entry]] = {header: [] for header in headers}
    for one in _declarations(unit.cursor, set(sources)):
        name = one.location.file.name
        found[Path(name)].append(_entry(one, sources[name]))
    grouped = {header: _grouped(entries) for header, entries in found.items()}
    return {
        header: [entry for entry in entries if entry.comment or entry.members]
        for header, entries in grouped.items()
    }


def head_of(header: Path) -> str:
    """The comment at the head of a header, after the license line."""
    lines = header.read_text(encoding="utf-8").splitlines()[1:]
    end = next((n for n, line in enumerate(lines) if not line.startswith("//")), len(lines))
    return comment_text("\n".join(lines[:end]))


def _index(entries: dict[Path, list[Entry]]) -> str:
    rows = ["# C++", "", "Each page has the declarations and the comments of a public header."]
    rows += ["`#include <forebay/forebay.hpp>` includes all but `mpi.hpp`.", ""]
    rows += ["| header | declares |", "|---|---|"]
    for header, found in entries.items():
        names = ", ".join(dict.fromkeys(f"`{entry.name}`" for entry in found))
        rows.append(f"| [{header.name}]({header.stem}.md) | {names} |")
    return "\n".join(rows) + "\n"


def pages() -> dict[str, str]:
    """The reference of C++ by place on the site."""
    every = entries_of(sorted(_PUBLIC.glob("*.hpp")))
    entries = {header: found for header, found in every.items() if found}
    described = [
        Page(
            name=header.stem,
            title=header.name,
            head=f"{head_of(header)}\n\n    #include <forebay/{header.name}>",
            entries=found,
        )
        for header, found in entries.items()
    ]
    rendered = render(described, "cpp")
    made = {f"{_FOLDER}/{name}.md": text for name, text in rendered.items()}
    return {f"{_FOLDER}/index.md": _index(entries)} | made
