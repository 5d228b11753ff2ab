# SPDX-License-Identifier: Apache-2.0
"""Rules that other programs know better: g++, clang-tidy, clang-format, ruff.

The slow ones remember each verdict under a hash of everything that led to it, so that a second run
asks only about what changed. As with ccache, all checkouts of a user share what is remembered.
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
PACKAGES = Path("/var/lib/dpkg/status")  # headers of the system come from these
KEPT_S = 30 * 24 * 3600
ONE_FILE_LIMIT_S = 120
ALL_FILES_LIMIT_S = 300

# `path:line:column: error: message [check]`, as gcc and the clang tools write it.
DIAGNOSTIC = re.compile(
    r"^(?P<path>[^\s:]+):(?P<line>\d+):\d+: (?:(?:fatal )?(?:error|warning): )?(?P<text>.*)$"
)

# A line of a file in which CMake puts sources together.
INCLUDED = re.compile(r'^#include "(?P<path>[^"]+)"$', re.MULTILINE)

# clang-tidy judges tests by their length alone: the test macros look like nesting, and worse.


@dataclass(frozen=True)
class Question:
    """One call of a slow program about one file, and what its answer depends on."""

    rule: str
    path: str
    command: list[str]
    depends_on: str


def run(command: list[str], root: Path, limit_s: int = ALL_FILES_LIMIT_S) -> tuple[int, str]:
    """Exit code and all output. Code 124 when the limit was reached."""
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
    """Programs of this virtual environment come first, by their names alone: what is remembered of
    a command is alike in all checkouts."""
    folder = Path(sys.prefix) / "bin"
    return os.environ | {"PATH": f"{folder}:{os.environ.get('PATH', os.defpath)}"}


def findings_in(output: str, rule: str, path: str, root: Path) -> list[Finding]:
    """The diagnostics in a program's output; the whole output where it has none of that form."""
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
    return found or [Finding(path, 0, rule, output.strip() or "failed without a word")]


def ask_all(questions: list[Question], root: Path) -> list[Finding]:
    """Answers from memory where possible, else from the programs, as many at once as cores."""
    folder = _memory_folder()
    folder.mkdir(parents=True, exist_ok=True)
    forget_unused(folder, time.time() - KEPT_S)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(lambda question: _ask(question, root, folder), questions))
    return sorted({finding for answer in answers for finding in answer})


def _memory_folder() -> Path:
    """A folder for what was installed on this system: other headers, other verdicts."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    packages = PACKAGES.read_bytes() if PACKAGES.exists() else b""
    return Path(cache) / "forebay" / "tidy" / hashlib.sha256(packages).hexdigest()[:16]


def forget_unused(folder: Path, since_s: float) -> None:
    """Removes verdicts beside and in `folder` that nobody has asked for since a time."""
    for memory in folder.parent.glob("*/*"):
        with suppress(FileNotFoundError):  # another checkout tidies up as well
            if memory.stat().st_mtime < since_s:
                memory.unlink()


def is_remembered(question: Question) -> bool:
    """Whether its answer takes no time."""
    return _memory_of(question, _memory_folder()).exists()


def _memory_of(question: Question, folder: Path) -> Path:
    known = [question.rule, question.path, question.command, question.depends_on]
    return folder / hashlib.sha256(json.dumps(known).encode()).hexdigest()


def _ask(question: Question, root: Path, folder: Path) -> list[Finding]:
    memory = _memory_of(question, folder)
    with suppress(FileNotFoundError):
        known_text = memory.read_text(encoding="utf-8")
        os.utime(memory)
        return [Finding(**one) for one in json.loads(known_text)]
    code, output = run(question.command, root, ONE_FILE_LIMIT_S)
    found = findings_in(output, question.rule, question.path, root) if code else []
    if code != 124:  # a time-out says nothing about the file
        _write(memory, found)
    return found


def remember(question: Question, found: list[Finding]) -> None:
    """Notes an answer that was found in another way."""
    folder = _memory_folder()
    folder.mkdir(parents=True, exist_ok=True)
    _write(_memory_of(question, folder), found)


def _write(memory: Path, found: list[Finding]) -> None:
    part = memory.with_suffix(f".{os.getpid()}")
    part.write_text(json.dumps([vars(one) for one in found]), encoding="utf-8")
    part.replace(memory)


def check_clang_tidy(tree: SourceTree) -> list[Finding]:
    """The checks of .clang-tidy, over what the release build compiles, as it compiles it.

    Not over tests, which are a third of it: these take minutes, and length is what matters there.
    """
    database = tree.root / BUILD / "compile_commands.json"
    if not database.exists():
        message = "there is no compile database; run `make build` first"
        return [Finding(f"{BUILD}/compile_commands.json", 0, "clang-tidy", message)]
    version = run([CLANG_TIDY, "--version"], tree.root)[1]
    config = tree.texts[".clang-tidy"]
    questions = {}
    for entry in json.loads(database.read_text(encoding="utf-8")):
        path = os.path.relpath(entry["file"], tree.root)
        sources = sources_compiled(Path(entry["file"]), tree)
        if not sources or all(is_test(source) for source in sources):
            continue
        # Warnings are the compilers' business, and some are of g++ alone.
        quiet = ["--quiet", "--extra-arg=-Wno-error", "--extra-arg=-Wno-unknown-warning-option"]
        command = [CLANG_TIDY, *quiet, "-p", BUILD, path]
        compiled_by = entry["command"].replace(str(tree.root), ".")  # alike in all checkouts
        closures = "".join(tree.closure_hash(source) for source in sources)
        questions[path] = Question(
            "clang-tidy", path, command, version + config + compiled_by + closures
        )
    return ask_all(list(questions.values()), tree.root)


def sources_compiled(file: Path, tree: SourceTree) -> list[str]:
    """The sources of the tree that a compiled file is, or that CMake has put together in it."""
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
    """C++ in the one format; `make format` puts it there."""
    found = _check_once(tree, "clang-format", [*_format_command(tree), "--dry-run", "-Werror"])
    first = {finding.path: finding for finding in reversed(found)}  # one a file says enough
    return sorted(first.values())


def check_ruff(tree: SourceTree) -> list[Finding]:
    """Python's lint rules, as pyproject.toml chooses them."""
    return _check_once(tree, "ruff", [RUFF, "check", "--output-format=concise", "."])


def check_ruff_format(tree: SourceTree) -> list[Finding]:
    """Python in the one format; `make format` puts it there."""
    return _check_once(tree, "ruff-format", [RUFF, "format", "--check", "."])


def _check_once(tree: SourceTree, rule: str, command: list[str]) -> list[Finding]:
    code, output = run(command, tree.root)
    return findings_in(output, rule, ".", tree.root) if code else []


def rewrite_formats(tree: SourceTree) -> int:
    """Puts every file in its format. Returns 0, or the code of the program that failed."""
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
