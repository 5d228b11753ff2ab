# SPDX-License-Identifier: Apache-2.0
"""Fixtures that create a small project per test, with violations in it."""

import subprocess

import pytest

from tidy.tree import SourceTree

CPP_HEAD = "// SPDX-License-Identifier: Apache-2.0\n// A file written by a test of the rules.\n"


@pytest.fixture(autouse=True)
def empty_cache(tmp_path_factory, monkeypatch):
    """Gives each test an empty cache of results, which no other run reads."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def make_tree(tmp_path):
    """Returns a function that writes files by path into a new project and returns its tree."""

    def make_files(files: dict[str, str]) -> SourceTree:
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
        for path, text in files.items():
            place = tmp_path / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        return SourceTree(tmp_path)

    return make_files


@pytest.fixture
def head():
    """Returns the first lines of a valid C++ file: license and purpose."""
    return CPP_HEAD
