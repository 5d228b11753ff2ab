# SPDX-License-Identifier: Apache-2.0
"""Rules that other programs check: g++, clang-tidy, clang-format and ruff.

Results of the slow programs are cached. The key is a hash of all inputs, so that a second run
checks only changed files. As with ccache, all checkouts of a user share the cache.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from tidy.finding import Finding
from tidy.text import is_test
from tidy.tree import SourceTree

CLANG_FORMAT = "clang-format"
CLANG_TIDY = "clang-tidy"
COMPILER = "g++"
RUFF = "ruff"
BUILD = "build/release"
PACKAGES = Path("/var/lib/dpkg/status")  # the packages that system headers belong to
CACHE_AGE_MAX_S = 30 * 24 * 3600  # since the last use of a result
ONE_FILE_LIMIT_S = 120
ALL_FILES_LIMIT_S = 300

# `path:line:column: error: message [check]`, the format of gcc and the clang tools.
DIAGNOSTIC = re.compile(
    r"^(?P<path>[^\s:]+):(?P<line>\d+):\d+: (?:(?:fatal )?(?:error|warning): )?(?P<text>.*)$"
)

# A line of a unity source of CMake, which includes several sources.
INCLUDED = re.compile(r'^#include "(?P<path>[^"]+)"$', re.MULTILINE)


@dataclass(frozen=True)
class CachedCheck:
    """One call of a slow program for one file, and all that its result depends on."""

    rule: str
    path: str
    command: list[str]
    depends_on: str


def run(command: list[str], root: Path, limit_s: int = ALL_FILES_LIMIT_S) -> tuple[int, str]:
    """Runs a command in `root`. Returns its exit code, 124 after `limit_s`, and all its output."""
    try:
        done = subprocess.run(
            command,
            cwd=root,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 124, f"{command[0]} did not end within {limit_s} s"
    return done.returncode, done.stdout


def _environment() -> dict[str, str]:
    """Puts the programs of this virtual environment first in PATH.

    Commands name a program without its directory, so that cached results match in all checkouts.
    """
    folder = Path(sys.prefix) / "bin"
    return os.environ | {"PATH": f"{folder}:{os.environ.get('PATH', os.defpath)}"}


def findings_in(output: str, rule: str, path: str, root: Path) -> list[Finding]:
    """Returns the diagnostics in a program's output, or one finding with all output if none is."""
    found: list[Finding] = []
    for line in output.splitlines():
        match = DIAGNOSTIC.match(line)
        if match and match["text"].startswith("note: expanded from"):
            continue
        if match and match["text"].startswith("note: ") and found:
            message = f"{found[-1].message}; {match['text'].removeprefix('note: ')}"
            found[-1] = replace(found[-1], message=message)
        elif match:
            place = os.path.relpath(root / match["path"], root)
            found.append(Finding(place, int(match["line"]), rule, match["text"]))
    return found or [Finding(path, 0, rule, output.strip() or "failed without output")]


def run_checks(cached_checks: list[CachedCheck], root: Path) -> list[Finding]:
    """Returns cached results, and runs the programs for others, one per core at a time."""
    folder = _cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    remove_unused(folder, time.time() - CACHE_AGE_MAX_S)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        findings = list(
            pool.map(lambda cached_check: _run_check(cached_check, root, folder), cached_checks)
        )
    return sorted({finding for file_findings in findings for finding in file_findings})


def _cache_folder() -> Path:
    """Returns the cache directory for the installed packages; system headers affect results."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    packages = PACKAGES.read_bytes() if PACKAGES.exists() else b""
    return Path(cache) / "forebay" / "tidy" / hashlib.sha256(packages).hexdigest()[:16]


def remove_unused(folder: Path, since_s: float) -> None:
    """Removes results in `folder` and its siblings whose last use is before `since_s`."""
    for cache_file in folder.parent.glob("*/*"):
        with suppress(FileNotFoundError):  # another checkout may remove it at the same time
            if cache_file.stat().st_mtime < since_s:
                cache_file.unlink()


def is_cached(cached_check: CachedCheck) -> bool:
    """Returns whether the result is cached."""
    return _cache_path(cached_check, _cache_folder()).exists()


def _cache_path(cached_check: CachedCheck, folder: Path) -> Path:
    known = [cached_check.rule, cached_check.path, cached_check.command, cached_check.depends_on]
    return folder / hashlib.sha256(json.dumps(known).encode()).hexdigest()


def _run_check(cached_check: CachedCheck, root: Path, folder: Path) -> list[Finding]:
    cache_file = _cache_path(cached_check, folder)
    with suppress(FileNotFoundError):
        known_text = cache_file.read_text(encoding="utf-8")
        os.utime(cache_file)
        return [Finding(**one) for one in json.loads(known_text)]
    code, output = run(cached_check.command, root, ONE_FILE_LIMIT_S)
    found = findings_in(output, cached_check.rule, cached_check.path, root) if code else []
    if code != 124:  # a timeout is not a result about the file
        _write(cache_file, found)
    return found


def store_verdict(cached_check: CachedCheck, found: list[Finding]) -> None:
    """Caches a result that was found in another way."""
    folder = _cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    _write(_cache_path(cached_check, folder), found)


def _write(cache_file: Path, found: list[Finding]) -> None:
    part = cache_file.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps([vars(one) for one in found]), encoding="utf-8")
    part.replace(cache_file)


def check_clang_tidy(tree: SourceTree) -> list[Finding]:
    """Runs the checks of .clang-tidy on the sources of the release build, with its flags.

    Tests are skipped. They are a third of the sources and would take minutes, test macros look like
    nesting, and the rule `test-functions` checks their length.
    """
    database = tree.root / BUILD / "compile_commands.json"
    if not database.exists():
        message = "no compile database; run `make build` first"
        return [Finding(f"{BUILD}/compile_commands.json", 0, "clang-tidy", message)]
    version = run([CLANG_TIDY, "--version"], tree.root)[1]
    config = tree.texts[".clang-tidy"]
    cached_checks = {}
    for entry in json.loads(database.read_text(encoding="utf-8")):
        path = os.path.relpath(entry["file"], tree.root)
        sources = sources_compiled(Path(entry["file"]), tree)
        if not sources or all(is_test(source) for source in sources):
            continue
        # The build reports compiler warnings, and clang does not have some warnings of g++.
        quiet = ["--quiet", "--extra-arg=-Wno-error", "--extra-arg=-Wno-unknown-warning-option"]
        command = [CLANG_TIDY, *quiet, "-p", BUILD, path]
        compiled_by = entry["command"].replace(str(tree.root), ".")  # the same in all checkouts
        closures = "".join(tree.closure_hash(source) for source in sources)
        cached_checks[path] = CachedCheck(
            "clang-tidy", path, command, version + config + compiled_by + closures
        )
    return run_checks(list(cached_checks.values()), tree.root)


def sources_compiled(file: Path, tree: SourceTree) -> list[str]:
    """Returns the sources in a compiled file: itself, or those that a unity source includes."""
    path = os.path.relpath(file, tree.root)
    if path in tree.texts:
        return [path]
    if not file.name.startswith("unity_") or not file.exists():
        return []
    included = INCLUDED.findall(file.read_text(encoding="utf-8"))
    paths = [os.path.relpath(source, tree.root) for source in included]
    return [source for source in paths if source in tree.texts]


def _format_command(tree: SourceTree) -> list[str]:
    return [CLANG_FORMAT, *tree.cpp_files()]


def check_clang_format(tree: SourceTree) -> list[Finding]:
    """Reports C++ files that `make format` would change."""
    found = _check_once(tree, "clang-format", [*_format_command(tree), "--dry-run", "-Werror"])
    first = {finding.path: finding for finding in reversed(found)}  # one per file is enough
    return sorted(first.values())


def check_ruff(tree: SourceTree) -> list[Finding]:
    """Runs the Python lint rules that pyproject.toml selects."""
    return _check_once(tree, "ruff", [RUFF, "check", "--output-format=concise", "."])


def check_ruff_format(tree: SourceTree) -> list[Finding]:
    """Reports Python files that `make format` would change."""
    return _check_once(tree, "ruff-format", [RUFF, "format", "--check", "."])


def _check_once(tree: SourceTree, rule: str, command: list[str]) -> list[Finding]:
    code, output = run(command, tree.root)
    return findings_in(output, rule, ".", tree.root) if code else []


def rewrite_formats(tree: SourceTree) -> int:
    """Formats every file. Returns 0, or the exit code of the program that failed."""
    for command in (
        [*_format_command(tree), "-i"],
        [RUFF, "format", "--quiet", "."],
        [RUFF, "check", "--fix", "--quiet", "."],
        [RUFF, "format", "--quiet", "."],  # again: a fix may have changed a line's length
    ):
        code, output = run(command, tree.root)
        if code:
            print(output)
            return code
    return 0


Rule = Callable[[SourceTree], list[Finding]]
RULES: dict[str, Rule] = {
    "clang-format": check_clang_format,
    "ruff": check_ruff,
    "ruff-format": check_ruff_format,
}
