# SPDX-License-Identifier: Apache-2.0
"""As much of C++ as the rules need: what is comment, what is text in quotes, what is included.

A compiler would know better but takes seconds a file; these rules look at the whole tree at once.
"""

import re
from dataclasses import dataclass

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
NOT_CODE = re.compile(
    r"""
      //(?:\\\n|[^\n])*                            # comment to the end of the line
    | /\*.*?\*/                                    # comment in a line or over several
    | R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)" # raw string
    | "(?:\\.|[^"\\\n])*"                          # string
    | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'          # character, but no separator as in 1'000
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Include:
    """One include line: its number, what it names, and whether in <> or in quotes."""

    line: int
    target: str
    angled: bool


def includes(text: str) -> list[Include]:
    """The include lines of a file, without those in comments."""
    kept = NOT_CODE.sub(_blank_comment, text)
    return [
        Include(kept.count("\n", 0, match.start()) + 1, match[2], match[1] == "<")
        for match in INCLUDE.finditer(kept)
    ]


def code_only(text: str) -> str:
    """The text with comments and quoted text blanked, every line where it was."""
    return NOT_CODE.sub(lambda match: _blank(match.group()), text)


def _blank_comment(match: re.Match) -> str:
    is_comment = match.group().startswith(("//", "/*"))
    return _blank(match.group()) if is_comment else match.group()


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
