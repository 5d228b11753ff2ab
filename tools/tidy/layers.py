# SPDX-License-Identifier: Apache-2.0
"""Checks includes between directories and includes of banned headers.

Without this check the directory graph gets a cycle within months, and then no directory of the
cycle can be read, tested or reused alone. The table is tools/tidy/layers.toml.
"""

import fnmatch
import tomllib
from pathlib import Path

from tidy.cpp import Include
from tidy.finding import Finding
from tidy.tree import SourceTree

TABLE = Path(__file__).parent / "layers.toml"


def load_table() -> dict:
    """Returns the table. Raises ValueError if an edge does not lead downwards, as in a cycle."""
    table = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    order = list(table["modules"])
    for name, allowed in table["modules"].items():
        for other in allowed:
            if order.index(other) >= order.index(name):
                raise ValueError(f"layers.toml: {name} may include {other}, which is not below it")
    return table


def check_layers(tree: SourceTree, table: dict) -> list[Finding]:
    """Reports files of unknown directories, and includes that the table does not allow."""
    findings = []
    for path in tree.cpp_files():
        unknown = _unknown_folder(path, table)
        if unknown:
            findings.append(Finding(path, 0, "layers", f"{unknown} is not in layers.toml"))
            continue
        for include in tree.includes(path):
            if message := _bad_edge(tree, path, include, table):
                findings.append(Finding(path, include.line, "layers", message))
    return findings


def _module(path: str) -> str | None:
    parts = path.split("/")
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def _public_module(path: str, table: dict) -> str | None:
    return table["public"]["module"].get(path.rpartition("/")[2].removesuffix(".hpp"))


def _outside_folder(path: str, table: dict) -> str | None:
    names = [name for name in table["outside"] if path.startswith(f"{name}/")]
    return max(names, key=len, default=None)


def _unknown_folder(path: str, table: dict) -> str | None:
    if path.startswith("src/"):
        module = _module(path)
        return None if module in table["modules"] else f"module {module}"
    if path.startswith("include/"):
        return None if _public_module(path, table) else f"public header {path}"
    return None if _outside_folder(path, table) else f"directory {path.split('/')[0]}"


def _bad_edge(tree: SourceTree, path: str, include: Include, table: dict) -> str | None:
    target = tree.resolve(path, include)
    if include.target.startswith("forebay/") or (target or "").startswith("include/"):
        return _bad_public(path, include, table)
    if target is None:
        return _bad_outside(path, include, table)
    if include.angled:
        return f'write "{include.target}", it is not a public header'
    other = _module(target)
    if other is None:
        return None
    if not include.target.startswith(f"{other}/"):
        return f'write "{target.removeprefix("src/")}": private headers are named with their module'
    return _bad_module(path, other, table)


def _bad_public(path: str, include: Include, table: dict) -> str | None:
    if not include.angled:
        return f"write <{include.target}>, it is a public header"
    module = _public_module(path, table) if path.startswith("include/") else _module(path)
    other = _public_module(include.target, table)
    if module is None or other is None or _may_include(module, other, table):
        return None
    return f"<{include.target}> belongs to {other}, which {module} may not include"


def _may_include(module: str, other: str, table: dict) -> bool:
    return other in (module, "base", *table["modules"][module])


def _bad_outside(path: str, include: Include, table: dict) -> str | None:
    if not include.angled:
        return f'"{include.target}" is not a file of the project'
    if path.startswith("include/") and not _may_be_public(include.target, table):
        return f"public headers may not include <{include.target}>"
    return None


def _may_be_public(target: str, table: dict) -> bool:
    is_standard = "/" not in target and "." not in target
    return is_standard or target in table["public"]["from_outside"]


def _bad_module(path: str, other: str, table: dict) -> str | None:
    module = _module(path)
    if module is not None:
        allowed = _may_include(module, other, table)
        return None if allowed else f"module {module} may not include {other}"
    folder = _outside_folder(path, table)
    allowed = table["outside"][folder]
    if "*" in allowed or other in allowed or (allowed and other == "base"):
        return None
    return f"{folder} may not include src/{other}; use <forebay/...>"


def check_bans(tree: SourceTree, table: dict) -> list[Finding]:
    """Reports external headers that are included outside the files that the table names."""
    findings = []
    for header, ban in table["bans"].items():
        homes = []
        for path in tree.cpp_files():
            lines = [one.line for one in tree.includes(path) if one.target == header]
            if not lines:
                continue
            if not any(fnmatch.fnmatch(path, where) for where in ban["where"]):
                message = f"<{header}> is allowed only in {', '.join(ban['where'])}"
                findings.append(Finding(path, lines[0], "bans", message))
            elif path.startswith("src/"):
                homes.append(path)
        if 0 < ban["files_max"] < len(homes):
            limit = f"{len(homes)} files of src/, at most {ban['files_max']} may"
            message = f"<{header}> is included by {limit}: {', '.join(homes)}"
            findings.append(Finding(homes[-1], 0, "bans", message))
    return findings
