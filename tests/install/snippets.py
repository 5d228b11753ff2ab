# SPDX-License-Identifier: Apache-2.0
"""Code blocks of README.md and docs/, and the programs that run the blocks of a page.

| block on a page that runs | use |
|---|---|
| `title="NAME"` | the content of the file NAME in the directory of the page |
| `sh` | run by bash in that directory, in the order of the page |
| `python` | the same by Python |
| `text title="Output"` | expected output of the block before; `…` stands for any text |
| any, with a title that begins with "Not run by the tests: " | a reader sees the reason |
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^ *```(.*?)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
NOT_RUN = "Not run by the tests: "
OUTPUT = "Output"
INTERPRETERS = {"sh": "bash -euo pipefail", "python": "python"}


@dataclass(frozen=True)
class Snippet:
    page: str
    line: int
    """The first line after the fence."""
    language: str
    title: str
    text: str

    def __str__(self):
        return f"{self.page}:{self.line}"

    @property
    def is_file(self):
        return bool(re.fullmatch(r"[\w.-]+\.\w+", self.title))

    @property
    def is_command(self):
        return self.language in INTERPRETERS and not self.title


def snippets_of(page):
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start(2)) + 1
        language, _, rest = found[1].partition(" ")
        title = re.search(r'title="([^"]*)"', rest)
        name = str(page.relative_to(ROOT))
        yield Snippet(name, line, language, title[1] if title else "", found[2])


def runs(page):
    """True for pages whose blocks run: the five-minute starts, and pages with files or Python."""
    snippets = list(snippets_of(page))
    has_program = any(
        one.is_file or (one.language, one.title) == ("python", "") for one in snippets
    )
    return page.parent.name == "start" or has_program


def script_of(snippets):
    """A script that runs commands of a page in its directory.

    The files N.out and N.err have the output of block N. All `sh` blocks share one shell, so
    variables and the directory last, as at a prompt.
    """
    lines = ["set -euo pipefail", 'outputs="$PWD/outputs"', 'mkdir "$outputs"']
    for number, snippet in enumerate(snippets):
        if snippet.is_file:
            lines.append(f"printf %s {shlex.quote(snippet.text)} > {shlex.quote(snippet.title)}")
        elif snippet.is_command and snippet.language == "sh":
            lines.append(
                f'{{\n{snippet.text}\n}} > "$outputs/{number}.out" 2> "$outputs/{number}.err"'
            )
        elif snippet.is_command:
            lines.append(
                f'python - <<"END OF BLOCK" > "$outputs/{number}.out" 2> "$outputs/{number}.err"'
            )
            lines += [snippet.text, "END OF BLOCK"]
    return "\n".join(lines) + "\n"


def differs(expected, output):
    """The first line of an expected output that is missing, or None.

    Lines are compared without repeated spaces, in their order; `…` alone in a line stands for any
    lines, inside a line for any text.
    """
    squeezed = [" ".join(line.split()) for line in expected.splitlines()]
    found = "\n".join(" ".join(line.split()) for line in output.splitlines())
    pattern = ""
    for line in squeezed:
        pattern += r"(?:.*\n)*?" if line == "…" else f"{_pattern(line)}\n"
        if not re.match(pattern, found + "\n"):
            return line
    return None if re.fullmatch(pattern, found + "\n") else "(end of the output)"


def _pattern(line):
    return ".*".join(re.escape(part) for part in line.split("…"))
