# SPDX-License-Identifier: Apache-2.0
"""Whether each header compiles as the only thing in a file.

What most headers include of the system takes longer than all the rest, so it is compiled once. That
hides nothing: only what a header includes anyway stands before it.
"""

from pathlib import Path

from tidy.finding import Finding
from tidy.programs import COMPILER, Question, ask_all, is_remembered, run
from tidy.tree import SourceTree

FOLDERS = ("include", "src", "apps", "bench", "tools")
PREFIXES = Path("build/tidy")
_USUAL = (
    "cstddef",
    "cstdint",
    "memory",
    "optional",
    "span",
    "string",
    "string_view",
    "tl/expected.hpp",
    "vector",
)
# The first of which a header includes all.
PREFIX_SETS = {
    "json": (*_USUAL, "nlohmann/json.hpp"),
    "waiting": (*_USUAL, "chrono", "functional", "mutex"),
    "usual": _USUAL,
}


def check_headers_alone(tree: SourceTree) -> list[Finding]:
    """Each header compiles as the only thing in a file."""
    version = run([COMPILER, "--version"], tree.root)[1]
    compiler = [COMPILER, *_flags(tree.root)]
    mpi = pinned(tree.texts.get("requirements.txt", ""), "mpich")
    headers = [path for path in tree.cpp_files(*FOLDERS) if path.endswith(".hpp")]
    prefix_of = {path: prefix_for(tree.system_includes(path)) for path in headers}
    questions = [
        Question(
            "headers-alone",
            path,
            [*compiler, "-fsyntax-only", *_include(prefix_of[path]), "-include", path]
            + ["-x", "c++", "/dev/null"],
            version + mpi + tree.closure_hash(path),
        )
        for path in headers
    ]
    asked = {prefix_of[one.path] for one in questions if not is_remembered(one)}
    for name in asked - {None}:
        _compile_prefix(name, compiler, tree.root)
    return ask_all(questions, tree.root)


def pinned(requirements: str, package: str) -> str:
    """The line that pins a package; empty if none does."""
    lines = requirements.splitlines()
    return next((line for line in lines if line.startswith(f"{package}==")), "")


def prefix_for(includes: frozenset[str]) -> str | None:
    """The name of the set that a header with these includes of the system may stand behind."""
    fitting = (name for name, headers in PREFIX_SETS.items() if includes.issuperset(headers))
    return next(fitting, None)


def _include(prefix: str | None) -> list[str]:
    return ["-include", str(PREFIXES / f"{prefix}.hpp")] if prefix else []


def _compile_prefix(name: str, compiler: list[str], root: Path) -> None:
    """Leaves a header, and what the compiler takes for it, unless they are there already. Without
    the latter checks are slower and say the same."""
    header = root / PREFIXES / f"{name}.hpp"
    text = "".join(f"#include <{one}>\n" for one in PREFIX_SETS[name])
    compiled = header.with_suffix(".hpp.gch")
    if compiled.exists() and header.read_text(encoding="utf-8") == text:
        return
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text(text, encoding="utf-8")
    place = header.relative_to(root)
    run([*compiler, "-x", "c++-header", str(place), "-o", f"{place}.gch"], root)


def _flags(root: Path) -> list[str]:
    # As in the build, designated initialisers may leave out what has a default.
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror"]
    flags += [f"-I{folder}" for folder in ("include", "src", "apps", ".")]
    flags += ["-isystem", ".venv/include"]  # mpi.h
    return flags + _flags_of_package("fuse3", root)


def _flags_of_package(name: str, root: Path) -> list[str]:
    """What a header of this package needs; nothing where it is not installed."""
    code, output = run(["pkg-config", "--cflags", name], root)
    return output.split() if code == 0 else []
