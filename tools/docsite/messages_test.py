# SPDX-License-Identifier: Apache-2.0
"""The messages that docs/troubleshooting.md quotes are in the sources."""

import ast
import os
import re

import pytest

from docsite.links import ROOT

PAGE = ROOT / "docs" / "troubleshooting.md"
FOLDERS = ("src", "bindings", "apps", "tools", "interpose", "python/forebay")
SUFFIXES = {".cpp", ".hpp", ".py"}
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# Shorter pieces would be found anywhere.
PIECE_CHARS_MIN = 6


def text_of(source):
    """The literals of a source in C++. Adjacent ones, also with `+` between, are one text."""
    joined = re.sub(r'(?<!\\)"\s*\+?\s*"', "", source)
    return "\n".join(found[1] for found in LITERAL.finditer(joined)).replace('\\"', '"')


def text_of_python(source):
    literals = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return "\n".join(one.value for one in literals if isinstance(one.value, str))


def messages_of(page):
    """The code at the start of the first cell of each row."""
    rows = re.findall(r"^\| (`` .*? ``|``.*?``|`.*?`) \|", page, re.MULTILINE)
    cells = [re.sub(r"`` ?(.*?) ?``", r"\1", row) for row in rows]
    return [cell if "``" in row else cell.strip("`") for row, cell in zip(rows, cells, strict=True)]


def pieces_of(message):
    """The parts of a message that do not differ from case to case."""
    parts = [part.strip() for part in message.split("…")]
    return [part for part in parts if len(part) >= PIECE_CHARS_MIN]


def paths():
    for folder in FOLDERS:
        yield from (p for p in (ROOT / folder).rglob("*") if p.suffix in SUFFIXES)


@pytest.fixture(scope="module")
def sources():
    kept = [path for path in paths() if not path.stem.endswith("_test")]
    texts = {path: path.read_text(encoding="utf-8") for path in kept}
    return "\n".join(
        (text_of_python if path.suffix == ".py" else text_of)(text) for path, text in texts.items()
    )


MESSAGES = messages_of(PAGE.read_text(encoding="utf-8"))
OF_THE_SYSTEM = {os.strerror(number) for number in range(1, 134)}


def test_messages_are_found_on_the_page():
    assert len(MESSAGES) > 40
    assert all(pieces_of(message) for message in MESSAGES)


@pytest.mark.parametrize("message", [m for m in MESSAGES if m not in OF_THE_SYSTEM])
def test_quoted_message_is_in_the_sources(sources, message):
    assert [piece for piece in pieces_of(message) if piece not in sources] == []


def test_text_that_no_source_has_is_not_found(sources):
    assert "storage is faster than put(), or it stalls" not in sources


def test_adjacent_literals_are_one_text():
    assert text_of('cause = "one "\n     "two" + name + " three";') == "one two\n three"
