# SPDX-License-Identifier: Apache-2.0
"""The site builds without a warning, needs no network, and its search works from disk."""

import json
import os
import re
import shutil
import subprocess

import pytest

from docsite.links import ROOT

LIMIT_S = 120
BROWSER = shutil.which("chromium-headless-shell")


def build(site, config=ROOT / "mkdocs.yml"):
    command = (ROOT / ".venv/bin/mkdocs", "build", "--strict", "-f", config, "-d", site)
    return subprocess.run(
        [str(word) for word in command],
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    directory = tmp_path_factory.mktemp("site")
    done = build(directory)
    assert done.returncode == 0, done.stdout + done.stderr
    return directory


@pytest.fixture
def copy(tmp_path):
    """The sources of the site, to be changed."""
    copied = ("docs", "include", "bindings", "tools/docsite", "examples", "apps/flow", "apps/tipsy")
    for name in copied:
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("mkdocs.yml", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "python").symlink_to(ROOT / "python")
    return tmp_path


def test_every_page_of_docs_is_on_the_site(site):
    pages = [page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")]
    names = [page.with_stem("index" if page.stem == "README" else page.stem) for page in pages]
    assert [name for name in names if not (site / name.with_suffix(".html")).exists()] == []


def test_pages_load_nothing_from_a_network(site):
    loads = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?(https?:[^\" >]+)")
    found = {url for page in site.rglob("*.html") for url in loads.findall(page.read_text())}
    assert found == set()


@pytest.mark.parametrize(
    ("query", "page"),
    [("io_uring is refused", "troubleshooting.html"), ("find_session", "reference/cpp/")],
)
def test_search_finds_messages_and_calls(site, query, page):
    entries = json.loads((site / "search/search_index.json").read_text())["docs"]
    assert any(query in one["text"] and one["location"].startswith(page) for one in entries)


@pytest.mark.skipif(BROWSER is None, reason="chromium-headless-shell is not installed")
def test_search_works_in_pages_opened_from_disk(site):
    page = f"file://{site}/index.html?q=checkpoint"
    options = ("--no-sandbox", "--virtual-time-budget=20000", "--dump-dom")
    command = ("timeout", "-k", "5", str(LIMIT_S), BROWSER, *options, page)
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S + 20, check=True)
    assert "md-search-result__item" in done.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[gone](guides/gone.md)", "guides/gone.md"),
        ("[no such heading](guides/reading.md#gone)", "gone"),
        ("[no such file](../include/forebay/gone.hpp)", "gone.hpp"),
    ],
)
def test_a_broken_link_fails_the_build(copy, text, message):
    with (copy / "docs/index.md").open("a") as page:
        page.write(f"\n{text}\n")
    done = build(copy / "site", copy / "mkdocs.yml")
    assert done.returncode != 0
    assert message in done.stdout + done.stderr


def test_a_page_outside_of_the_navigation_fails_the_build(copy):
    (copy / "docs/guides/forgotten.md").write_text("# Forgotten\n")
    done = build(copy / "site", copy / "mkdocs.yml")
    assert done.returncode != 0
    assert "guides/forgotten.md" in done.stdout + done.stderr
