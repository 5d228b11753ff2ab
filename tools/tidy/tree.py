# SPDX-License-Identifier: Apache-2.0
"""The files that the rules check, read once, with the include graph of the C++ files.

Rules read this tree instead of the disk, so that a test can use its own small project.
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
INCLUDE_ROOTS = ("bindings", "include", "src", "apps", ".")


class SourceTree:
    """All text files of the project: those that git tracks or would track.

    Outside a checkout, such as in an unpacked archive, these are the files that .gitignore does not
    exclude.
    """

    def __init__(self, root: Path):
        self.root = root
        read = {path: _read(root / path) for path in _list(root)}
        self.texts = {path: text for path, text in read.items() if text is not None}

    def cpp_files(self, *folders: str) -> list[str]:
        """Returns the C and C++ files in `folders`; without arguments, all of them."""
        prefixes = tuple(f"{folder}/" for folder in folders)
        return [
            path
            for path in self.texts
            if path.endswith(CPP_ENDINGS) and (not prefixes or path.startswith(prefixes))
        ]

    @cache  # noqa: B019  a tree lives as long as the process
    def includes(self, path: str) -> list[cpp.Include]:
        return cpp.includes(self.texts[path])

    def resolve(self, path: str, include: cpp.Include) -> str | None:
        """Returns the file of the project that an include in `path` names, None if external."""
        places = [f"{root}/{include.target}" for root in INCLUDE_ROOTS]
        if not include.angled:
            places.insert(0, f"{path.rpartition('/')[0]}/{include.target}")
        for place in places:
            if (clean := place.removeprefix("./")) in self.texts:
                return clean
        return None

    @cache  # noqa: B019
    def closure(self, path: str) -> frozenset[str]:
        """Returns the file and all files of the project that it includes, directly or not."""
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
        """Returns the external headers that the closure of `path` includes in angle brackets."""
        return frozenset(
            include.target
            for one in self.closure(path)
            for include in self.includes(one)
            if include.angled and self.resolve(one, include) is None
        )

    def closure_hash(self, path: str) -> str:
        """Returns a hash of all project text that a compiler reads for `path`."""
        digest = hashlib.sha256()
        for one in sorted(self.closure(path)):
            digest.update(f"{one}\0{self.texts[one]}\0".encode())
        return digest.hexdigest()


def _list(root: Path) -> list[str]:
    listed = _list_by_git(root)
    return sorted(_walk(root) if listed is None else listed)


def _list_by_git(root: Path) -> set[str] | None:
    """Returns the files that git lists, None if `root` is not a checkout or git fails.

    A checkout in a parent directory is another project, and its list is not used.
    """
    if not (root / ".git").exists():
        return None
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return set(done.stdout.split("\0")) - {""} if done.returncode == 0 else None


def _walk(root: Path) -> Iterator[str]:
    """Yields the files that the .gitignore of the root does not exclude."""
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
    """Implements the rules of git that this project uses.

    Directories end with a slash, in `path` and in patterns. A pattern with a leading slash matches
    at the root only; others match a name anywhere.
    """
    name = path[path.removesuffix("/").rfind("/") + 1 :]
    return any(
        fnmatchcase(candidate, pattern)
        for pattern in patterns
        for whole in [f"/{path}" if pattern.startswith("/") else name]
        for candidate in (whole, whole.removesuffix("/"))
    )


def _read(path: Path) -> str | None:
    """Returns the text of a file, None if it is missing, a symbolic link, or not UTF-8 text."""
    if path.is_symlink() or not path.is_file():
        return None
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
