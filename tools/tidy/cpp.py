# SPDX-License-Identifier: Apache-2.0
"""A partial C++ lexer for the rules: it finds comments, string literals and includes.

A compiler is exact but takes seconds per file; these rules read the whole tree in one run.
"""

import re
from dataclasses import dataclass

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
NOT_CODE = re.compile(
    r"""
      //(?:\\\n|[^\n])*                            # comment to the end of the line
    | /\*.*?\*/                                    # comment of one or several lines
    | R"(?P<mark>[^()\s\\]{0,16})\(.*?\)(?P=mark)" # raw string
    | "(?:\\.|[^"\\\n])*"                          # string
    | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'          # character, but not a separator as in 1'000
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Include:
    """One include line: its number, the header it names, and whether that is in <> or quotes."""

    line: int
    target: str
    angled: bool


def includes(text: str) -> list[Include]:
    """Returns the include lines of a file, without those in comments."""
    kept = NOT_CODE.sub(_blank_comment, text)
    return [
        Include(kept.count("\n", 0, match.start()) + 1, match[2], match[1] == "<")
        for match in INCLUDE.finditer(kept)
    ]


def code_only(text: str) -> str:
    """Returns the text with comments and literals blanked; line numbers do not change."""
    return NOT_CODE.sub(lambda match: _blank(match.group()), text)


def _blank_comment(match: re.Match) -> str:
    is_comment = match.group().startswith(("//", "/*"))
    return _blank(match.group()) if is_comment else match.group()


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
