# SPDX-License-Identifier: Apache-2.0
"""Places of the repository's files on the site, and links between them.

Pages link to files by their paths in the repository, as on any code host. The site has pages of
`docs/` as they are, a reference page for each public header, and a page for each other file that a
page links to: text as it is, sources as a code block, directories as a list.
"""

import os
import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = "include/forebay/"
_FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_TARGET = re.compile(r"(?<=\]\()([^()\s#]+)(?=(?:#[^()\s]*)?\))")
_NESTED = re.compile(r"^ {2,3}(?=- )", re.MULTILINE)
_LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".py": "python", ".sh": "sh", ".toml": "toml"}


def place_of(file: str) -> str:
    """The page of the site for a file or directory of the repository."""
    if file.startswith("docs/"):
        return file.removeprefix("docs/")
    if file.startswith(HEADERS) and file.endswith(".hpp"):
        return f"reference/cpp/{file.removeprefix(HEADERS).removesuffix('.hpp')}.md"
    if (ROOT / file).is_dir():
        return f"source/{file}/index.md"
    return f"source/{file.removesuffix('.md')}.md"


def rewrite(text: str, file: str) -> tuple[str, set[str]]:
    """The page `file` with links of the site, and the files that they name.

    Nested lists get the four spaces of indentation that MkDocs needs. Code blocks stay unchanged. A
    link to a file that does not exist stays as it is, so that the
    strict build reports it.
    """
    files = set()
    folder = posixpath.dirname(place_of(file))

    def link_of(found):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(file), found[1]))
        if "://" in found[1] or not (ROOT / target).exists():
            return found[1]
        files.add(target)
        return posixpath.relpath(place_of(target), folder)

    kept = []
    hidden = _FENCE.sub(lambda found: kept.append(found[0]) or "\0", text)
    linked = _TARGET.sub(link_of, _NESTED.sub("    ", hidden))
    return re.sub("\0", lambda _: kept.pop(0), linked), files


def _listing(folder: str) -> str:
    names = sorted(os.listdir(ROOT / folder))
    rows = [f"- [{name}]({name})\n" for name in names if (ROOT / folder / name).is_file()]
    return f"# {folder}\n\n{''.join(rows)}"


def source_page(file: str) -> tuple[str, set[str]]:
    """The page for a file or directory outside `docs/`, and the files to which it links."""
    path = ROOT / file
    if path.is_dir():
        return rewrite(_listing(file), f"{file}/index.md")
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return rewrite(text, file)
    language = _LANGUAGES.get(path.suffix, "text")
    return f'# {path.name}\n\n```{language} title="{file}"\n{text}```\n', set()


def source_pages(pages: dict[str, str]) -> dict[str, str]:
    """Pages for all files outside `docs/` that these pages, or pages added here, link to.

    Keys are paths in the repository for `pages`, and places on the site for the result.
    """
    waiting = {target for file, text in pages.items() for target in rewrite(text, file)[1]}
    made = {}
    while waiting:
        file = waiting.pop()
        place = place_of(file)
        if place in made or not place.startswith("source/"):
            continue
        made[place], more = source_page(file)
        waiting |= more
    return made
