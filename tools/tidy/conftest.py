# SPDX-License-Identifier: Apache-2.0
"""A small project of its own for each test, in which sins can be planted."""

import subprocess

import pytest

from tidy.tree import SourceTree

CPP_HEAD = "// SPDX-License-Identifier: Apache-2.0\n// A file planted by a test of the rules.\n"


@pytest.fixture(autouse=True)
def own_memory(tmp_path_factory, monkeypatch):
    """Nothing that was found out elsewhere, and nothing for others to find."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def plant(tmp_path):
    """Writes files by path into a new project and returns its tree."""

    def plant_files(files: dict[str, str]) -> SourceTree:
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
        for path, text in files.items():
            place = tmp_path / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        return SourceTree(tmp_path)

    return plant_files


@pytest.fixture
def head():
    """What every C++ file begins with."""
    return CPP_HEAD
