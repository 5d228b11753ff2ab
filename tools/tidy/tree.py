# SPDX-License-Identifier: Apache-2.0
"""The files under check, read once, with the C++ side's include graph.

Rules ask this instead of the disk, so that a test can plant a sin in a folder of its own.
"""

import hashlib
import os
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from tidy import cpp

CPP_ENDINGS = (".cpp", ".hpp", ".h", ".c")
INCLUDE_ROOTS = ("include", "src", "apps", ".")


class SourceTree:
    """All text files that belong to the project: what git tracks or would track.

    In a tree that is no checkout, such as an unpacked archive, everything that .gitignore leaves.
    """

    def __init__(self, root: Path):
        self.root = root
        read = {path: _read(root / path) for path in _list(root)}
        self.texts = {path: text for path, text in read.items() if text is not None}

    def cpp_files(self, *folders: str) -> list[str]:
        """C and C++ files, in the folders named or everywhere."""
        wanted = tuple(f"{folder}/" for folder in folders)
        return [
            path
            for path in self.texts
            if path.endswith(CPP_ENDINGS) and (not wanted or path.startswith(wanted))
        ]

    @cache  # noqa: B019  a tree lives as long as the process
    def includes(self, path: str) -> list[cpp.Include]:
        return cpp.includes(self.texts[path])

    def resolve(self, path: str, include: cpp.Include) -> str | None:
        """The project's file that an include in `path` means; None for files from outside."""
        places = [f"{root}/{include.target}" for root in INCLUDE_ROOTS]
        if not include.angled:
            places.insert(0, f"{path.rpartition('/')[0]}/{include.target}")
        for place in places:
            if (clean := place.removeprefix("./")) in self.texts:
                return clean
        return None

    @cache  # noqa: B019
    def closure(self, path: str) -> frozenset[str]:
        """The file and every file of the project it includes, directly or not."""
        seen, waiting = set(), [path]
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            found = (self.resolve(current, include) for include in self.includes(current))
            waiting.extend(one for one in found if one)
        return frozenset(seen)

    def system_includes(self, path: str) -> frozenset[str]:
        """What the closure of `path` includes in angle brackets that is not of the project."""
        return frozenset(
            include.target
            for one in self.closure(path)
            for include in self.includes(one)
            if include.angled and self.resolve(one, include) is None
        )

    def closure_hash(self, path: str) -> str:
        """Changes whenever a compiler could see something else when it reads `path`."""
        digest = hashlib.sha256()
        for one in sorted(self.closure(path)):
            digest.update(f"{one}\0{self.texts[one]}\0".encode())
        return digest.hexdigest()


def _list(root: Path) -> list[str]:
    listed = _list_by_git(root)
    return sorted(_walk(root) if listed is None else listed)


def _list_by_git(root: Path) -> set[str] | None:
    """None where git has nothing to say: no checkout (one further up is not ours), or no git."""
    if not (root / ".git").exists():
        return None
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return set(done.stdout.split("\0")) - {""} if done.returncode == 0 else None


def _walk(root: Path) -> Iterator[str]:
    """The files that the .gitignore of the root leaves."""
    patterns = _ignore_patterns(root)
    for folder, folders, files in os.walk(root):
        place = Path(folder).relative_to(root)
        folders[:] = [one for one in folders if not _is_ignored(f"{place / one}/", patterns)]
        paths = (str(place / one) for one in files)
        yield from (path for path in paths if not _is_ignored(path, patterns))


def _ignore_patterns(root: Path) -> list[str]:
    text = _read(root / ".gitignore") or ""
    lines = (line.strip() for line in text.splitlines())
    return ["/.git/", *(line for line in lines if line and not line.startswith("#"))]


def _is_ignored(path: str, patterns: list[str]) -> bool:
    """Git's rules as far as we use them. Folders end with a slash, in `path` and patterns.

    A slash in front ties a pattern to the root; others match a name anywhere.
    """
    name = path[path.removesuffix("/").rfind("/") + 1 :]
    return any(
        fnmatchcase(candidate, pattern)
        for pattern in patterns
        for whole in [f"/{path}" if pattern.startswith("/") else name]
        for candidate in (whole, whole.removesuffix("/"))
    )


def _read(path: Path) -> str | None:
    """The text of a file; None when it is gone, a link, or not text."""
    if path.is_symlink() or not path.is_file():
        return None
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
