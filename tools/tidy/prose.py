# SPDX-License-Identifier: Apache-2.0
"""The prose of a file: comments, docstrings, quoted text and Markdown, each piece with its line.

A piece is what a reader reads in one go: a paragraph, a list item, a table cell, a comment block.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from tidy import cpp
from tidy.tree import CPP_ENDINGS

HASH_ENDINGS = (".cmake", ".sh", ".toml", ".yml", ".yaml", ".ini")
HASH_NAMES = ("CMakeLists.txt", "Makefile")
FENCE = re.compile(r"^ *(```|~~~)")
ITEM = re.compile(r"^ *(?:[-*+]|\d+\.)\s+")
HASH_COMMENT = re.compile(r"(?:^|\s)#+!?\s?(.*)$")
CPP_MARK = re.compile(r"^\s*(?://+[!<]*|/\*+|\*+/|\*(?!\w))\s?|\*/\s*$")


@dataclass(frozen=True)
class Piece:
    """Text of a file without its marks. `lines` are consecutive; `first` counts from 1."""

    first: int
    lines: tuple[str, ...]

    def line_of(self, position: int) -> int:
        """The line that holds a character of `text`."""
        return self.first + self.text.count("\n", 0, position)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def pieces(path: str, text: str) -> Iterator[Piece]:
    """The prose of one file, in order. Files of other kinds have none."""
    name = PurePosixPath(path).name
    if name.endswith(CPP_ENDINGS):
        yield from _of_cpp(text)
    elif name.endswith(".py") or text.startswith("#!/usr/bin/env python"):
        yield from _of_python(text)
    elif name.endswith(".md"):
        yield from _of_markdown(text)
    elif name.endswith(HASH_ENDINGS) or name in HASH_NAMES or text.startswith("#!"):
        yield from _of_hashes(text)


def _of_cpp(text: str) -> Iterator[Piece]:
    comments: list[tuple[int, str]] = []
    for match in cpp.NOT_CODE.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        found = match.group()
        if found.startswith(("//", "/*")):
            lines = [CPP_MARK.sub("", line) for line in found.split("\n")]
            comments += [(first + i, line) for i, line in enumerate(lines)]
        elif not found.startswith("'"):
            yield Piece(first, tuple(found.split("\n")))
    yield from _blocks(comments)


def _of_python(text: str) -> Iterator[Piece]:
    comments: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments.append((token.start[0], token.string.lstrip("#! ")))
        elif token.type == tokenize.STRING or token.type == FSTRING_MIDDLE:
            yield from _blocks(list(enumerate(token.string.split("\n"), token.start[0])))
    yield from _blocks(comments)


FSTRING_MIDDLE = getattr(tokenize, "FSTRING_MIDDLE", -1)  # from Python 3.12


def _of_hashes(text: str) -> Iterator[Piece]:
    found = ((i, HASH_COMMENT.search(line)) for i, line in enumerate(text.split("\n"), 1))
    yield from _blocks([(i, match[1]) for i, match in found if match])


def _of_markdown(text: str) -> Iterator[Piece]:
    block: list[tuple[int, str]] = []
    is_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if FENCE.match(line):
            is_code = not is_code
        elif is_code:
            continue
        elif line.lstrip().startswith("|"):
            yield from _blocks(block)
            block = []
            for cell in line.strip().strip("|").split("|"):
                yield Piece(number, (cell,))
        else:
            if ITEM.match(line) or line.startswith("#"):
                yield from _blocks(block)
                block = []
            block.append((number, ITEM.sub("", line).lstrip("#> ")))
    yield from _blocks(block)


def _blocks(lines: list[tuple[int, str]]) -> Iterator[Piece]:
    """Consecutive lines with text in them."""
    block: list[str] = []
    last = 0
    for number, line in [*lines, (0, "")]:
        is_next = number == last + 1
        if block and (not line.strip() or not is_next):
            yield Piece(last - len(block) + 1, tuple(block))
            block = []
        if line.strip():
            block.append(line)
        last = number
