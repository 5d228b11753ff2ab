# SPDX-License-Identifier: Apache-2.0
"""Reference pages from declarations and their comments, in any language.

A page has a heading for each type and function, with the declaration as it is in the source. Values
of a type are a table. Names in comments are links to where they are described.
"""

import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

SYMBOL = r"\b[A-Z]\w+(?:(?:::|\.)\w+)?(?:\(\))?"

# Of characters that Markdown or HTML would interpret in a heading.
_ENTITIES = str.maketrans({"<": "&lt;", "_": "&#95;", "*": "&#42;"})


@dataclass
class Entry:
    """A declaration, or several that share a comment."""

    name: str
    declarations: list[str]
    comment: str
    members: list["Entry"] = field(default_factory=list)
    is_value: bool = False
    """A field, constant or enumerator: a row of a table."""


@dataclass
class Page:
    """A page of the reference, without what lies around the entries."""

    name: str
    """File name without `.md`, in the folder of its reference."""
    title: str
    head: str
    """Markdown before the first entry."""
    entries: list[Entry]


def _anchor_of(scope: str, name: str) -> str:
    """An identifier for a heading; Markdown would take underscores at its ends for emphasis."""
    return f"{scope}.{name.strip('_')}".strip(".")


class Renderer:
    """Markdown of one page, with links to what other pages describe."""

    def __init__(self, page: str, anchors: dict[str, str], language: str = "cpp"):
        self._page, self._anchors, self._language = page, anchors, language
        self._used: dict[str, int] = {}

    def _link_of(self, found) -> str:
        """A link for `Name`, `Name::member()` or a page `docs/...` that exists."""
        word = found[0].strip("`")
        if word.startswith("docs/"):
            return f"[{Path(word).stem}](../../{word.removeprefix('docs/')})"
        if not re.fullmatch(SYMBOL, word):
            return found[0]
        name = re.sub(r"\(.*\)$", "", word).replace("::", ".")
        place = self._anchors.get(name) or self._anchors.get(name.partition(".")[0])
        if place is None:
            return found[0]
        page, _, anchor = place.partition("#")
        return f"[`{word}`]({'' if page == self._page else page}#{anchor})"

    def prose(self, text: str) -> str:
        """A comment as Markdown. Indented lines are code."""
        blocks = []
        for block in re.split(r"\n\n+", text):
            if block and all(line.startswith("    ") for line in block.splitlines()):
                blocks.append(f"```{self._language}\n{textwrap.dedent(block)}\n```")
                continue
            parts = re.split(r"(`[^`]*`)", block)
            parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]
            word = rf"`[^`]*`|docs/[\w/-]+\.md|{SYMBOL}"
            blocks.append(re.sub(word, self._link_of, "".join(parts)))
        return "\n\n".join(blocks)

    def _heading(self, level: int, entry: Entry, scope: str) -> str:
        anchor = _anchor_of(scope, entry.name)
        self._used[anchor] = self._used.get(anchor, 0) + 1
        suffix = f"-{self._used[anchor]}" if self._used[anchor] > 1 else ""
        title = entry.name.translate(_ENTITIES)
        return f"{'#' * level} {title} {{ #{anchor}{suffix} }}"

    def _values(self, entries: list[Entry]) -> str:
        rows = ["| declaration | meaning |", "|---|---|"]
        for entry in entries:
            meaning = re.sub(r"\s*\n\s*", " ", self.prose(entry.comment)).replace("|", "\\|")
            code = re.sub(r"\s+", " ", entry.declarations[0]).replace("|", "\\|")
            rows.append(f"| `{code}` | {meaning} |")
        return "\n".join(rows)

    def entry(self, entry: Entry, level: int = 2, scope: str = "") -> str:
        """An entry and its members, with headings from this level on."""
        code = "\n".join(entry.declarations)
        parts = [
            self._heading(level, entry, scope),
            f"```{self._language}\n{code}\n```",
            self.prose(entry.comment),
        ]
        values = [one for one in entry.members if one.is_value]
        parts += [self._values(values)] if values else []
        inner = _anchor_of(scope, entry.name)
        others = [one for one in entry.members if not one.is_value]
        parts += [self.entry(one, level + 1, inner) for one in others]
        return "\n\n".join(part for part in parts if part)


def _anchors_of(page: Page) -> dict[str, str]:
    own = {entry.name: f"{page.name}.md#{entry.name}" for entry in page.entries}
    members = {
        f"{entry.name}.{one.name}": f"{page.name}.md#{_anchor_of(entry.name, one.name)}"
        for entry in page.entries
        for one in entry.members
        if not one.is_value
    }
    return members | own


def render(pages: list[Page], language: str) -> dict[str, str]:
    """Markdown of pages by their names, with links between them."""
    anchors: dict[str, str] = {}
    for page in pages:
        anchors = _anchors_of(page) | anchors
    made = {}
    for page in pages:
        renderer = Renderer(f"{page.name}.md", anchors, language)
        parts = [f"# {page.title}", renderer.prose(page.head)]
        parts += [renderer.entry(entry) for entry in page.entries]
        made[page.name] = "\n\n".join(parts) + "\n"
    return made
