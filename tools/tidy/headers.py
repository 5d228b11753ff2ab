# SPDX-License-Identifier: Apache-2.0
"""Checks that each header compiles alone, as the only include of a file.

One compiler call checks a chain of headers. Each header of a chain includes, directly or not, all
headers before it, so no earlier header hides a missing include. A prefix of common system headers,
compiled once, precedes a chain whose first header includes all of them. Headers of a chain that
fails are compiled alone, and so are headers that include something after a declaration.
"""

import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tidy import cpp, programs
from tidy.finding import Finding
from tidy.tree import SourceTree

FOLDERS = ("include", "src", "apps", "bench", "tools")
PREFIXES = Path("build/tidy")
LATE_INCLUDE = re.compile(r"#\s*include\b")
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
# Sets of system headers. The first set that a header includes completely is its prefix.
PREFIX_SETS = {
    "json": (*_USUAL, "nlohmann/json.hpp"),
    "waiting": (*_USUAL, "chrono", "functional", "mutex"),
    "usual": _USUAL,
}


def check_headers_alone(tree: SourceTree) -> list[Finding]:
    """Reports headers that do not compile as the only include of a file."""
    version = programs.run([programs.COMPILER, "--version"], tree.root)[1]
    compiler = [programs.COMPILER, *_flags(tree.root)]
    mpi = pinned(tree.texts.get("requirements.txt", ""), "mpich")
    headers = [path for path in tree.cpp_files(*FOLDERS) if path.endswith(".hpp")]
    cached_checks = {
        path: programs.CachedCheck(
            "headers-alone",
            path,
            [*compiler, "-fsyntax-only", "-include", path, "-x", "c++", "/dev/null"],
            version + mpi + tree.closure_hash(path),
        )
        for path in headers
    }
    unknown = [
        path for path, cached_check in cached_checks.items() if not programs.is_cached(cached_check)
    ]
    early = [path for path in unknown if not includes_late(tree.texts[path])]
    proven = _proven_in_chains(tree, chains_of({path: includes_of(tree, path) for path in early}))
    for path in proven:
        programs.store_verdict(cached_checks[path], [])
    return programs.run_checks(list(cached_checks.values()), tree.root)


def includes_of(tree: SourceTree, path: str) -> frozenset[str]:
    """Returns the header and all that it includes, directly or not."""
    return tree.closure(path) | {f"<{name}>" for name in tree.system_includes(path)}


def chains_of(seen: dict[str, frozenset[str]]) -> list[list[str]]:
    """Divides headers into few chains.

    Each header of a chain includes strictly more than all headers before it.
    """
    chains = []
    for path in sorted(seen, key=lambda path: (len(seen[path]), path)):
        fitting = [chain for chain in chains if seen[chain[-1]] < seen[path]]
        if fitting:
            max(fitting, key=lambda chain: len(seen[chain[-1]])).append(path)
        else:
            chains.append([path])
    return chains


def includes_late(text: str) -> bool:
    """Returns whether an include follows a declaration.

    In a chain, that declaration could depend on an earlier header.
    """
    lines = cpp.code_only(text).replace("\\\n", " ").splitlines()
    code = [line.strip() for line in lines if line.strip()]
    first = next((i for i, line in enumerate(code) if not line.startswith("#")), len(code))
    return any(LATE_INCLUDE.match(line) for line in code[first:])


def _proven_in_chains(tree: SourceTree, chains: list[list[str]]) -> list[str]:
    """Returns the headers of the chains that compile."""
    compiler = [programs.COMPILER, *_flags(tree.root)]
    prefix_of = {chain[0]: prefix_for(tree.system_includes(chain[0])) for chain in chains}
    for name in set(prefix_of.values()) - {None}:
        _compile_prefix(name, compiler, tree.root)

    def proven_in(chain: list[str]) -> list[str]:
        included = [word for path in chain for word in ("-include", path)]
        command = [*compiler, "-fsyntax-only", *_include(prefix_of[chain[0]]), *included]
        command += ["-x", "c++", "/dev/null"]
        code, _ = programs.run(command, tree.root, programs.ONE_FILE_LIMIT_S)
        return chain if code == 0 else []

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [path for proven in pool.map(proven_in, chains) for path in proven]


def pinned(requirements: str, package: str) -> str:
    """Returns the line that pins a package, empty if there is none."""
    lines = requirements.splitlines()
    return next((line for line in lines if line.startswith(f"{package}==")), "")


def prefix_for(includes: frozenset[str]) -> str | None:
    """Returns the name of the first prefix whose headers are all in `includes`, None if none is."""
    fitting = (name for name, headers in PREFIX_SETS.items() if includes.issuperset(headers))
    return next(fitting, None)


def _include(prefix: str | None) -> list[str]:
    return ["-include", str(PREFIXES / f"{prefix}.hpp")] if prefix else []


def _compile_prefix(name: str, compiler: list[str], root: Path) -> None:
    """Writes the header of a prefix and compiles it, unless both are up to date.

    Without the compiled header the checks are slower and have the same result.
    """
    header = root / PREFIXES / f"{name}.hpp"
    text = "".join(f"#include <{one}>\n" for one in PREFIX_SETS[name])
    compiled = header.with_suffix(".hpp.gch")
    if compiled.exists() and header.read_text(encoding="utf-8") == text:
        return
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text(text, encoding="utf-8")
    place = header.relative_to(root)
    programs.run([*compiler, "-x", "c++-header", str(place), "-o", f"{place}.gch"], root)


def _flags(root: Path) -> list[str]:
    # As in the build, designated initializers may leave out members that have a default.
    flags = ["-std=c++20", "-Wall", "-Wextra", "-Wno-missing-field-initializers", "-Werror"]
    flags += [f"-I{folder}" for folder in ("include", "src", "apps", ".")]
    flags += ["-isystem", ".venv/include"]  # mpi.h
    return flags + _flags_of_package("fuse3", root)


def _flags_of_package(name: str, root: Path) -> list[str]:
    """Returns the compiler flags of a pkg-config package, none if it is not installed."""
    code, output = programs.run(["pkg-config", "--cflags", name], root)
    return output.split() if code == 0 else []
