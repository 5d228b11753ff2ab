# SPDX-License-Identifier: Apache-2.0
"""What the site has beyond the pages of `docs/`: references, linked sources, expanded navigation.

MkDocs calls the functions on_*; mkdocs.yml names this file.
"""

import sys
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "python")]
from docsite import commands, headers, links, listings, stubs  # noqa: E402

DOCS = ROOT / "docs"


def _pages_of_docs() -> dict[str, str]:
    """Pages by path in the repository."""
    found = DOCS.rglob("*.md")
    return {f"docs/{page.relative_to(DOCS)}": page.read_text(encoding="utf-8") for page in found}


def generated_pages() -> dict[str, str]:
    """Pages by place on the site."""
    pages = commands.pages() | headers.pages() | listings.pages() | stubs.pages()
    return pages | links.source_pages(_pages_of_docs())


def _expanded(entry, places):
    """An entry of the navigation, with `directory/*` replaced by the pages of the directory."""
    if isinstance(entry, list):
        return [_expanded(one, places) for one in entry]
    if isinstance(entry, dict):
        return {name: _expanded(one, places) for name, one in entry.items()}
    if not entry.endswith("/*"):
        return entry
    inside = [place for place in places if place.startswith(entry[:-1])]
    return sorted(inside, key=lambda place: (Path(place).stem not in ("index", "README"), place))


def on_config(config):
    """Generates the pages once, and expands the navigation by them."""
    config["generated"] = generated_pages()
    known = [str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")]
    config["nav"] = _expanded(config["nav"], [*known, *config["generated"]])
    return config


def on_files(files, config):
    """Adds the generated pages."""
    for place, text in config["generated"].items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown, page, config, **_):
    """Replaces links between files of the repository by links of the site."""
    if page.file.src_uri in config["generated"]:
        return markdown
    return links.rewrite(markdown, f"docs/{page.file.src_uri}")[0]
