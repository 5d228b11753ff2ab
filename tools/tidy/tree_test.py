# SPDX-License-Identifier: Apache-2.0
"""The checked files are the same in a checkout and in an unpacked archive of it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tidy.tree import SourceTree

ROOT = Path(__file__).resolve().parents[2]

FILES = {
    ".gitignore": "# build output\n/build/\n/local.json\n__pycache__/\n*.egg-info/\n*.pyc\n",
    "README.md": "x\n",
    ".ci/run": "x\n",
    "src/base/a.cpp": "x\n",
    "src/build/kept.cpp": "x\n",
    "src/local.json": "x\n",
    "build/a.cpp": "x\n",
    "local.json": "x\n",
    "python/__pycache__/a.py": "x\n",
    "python/forebay.egg-info/a.py": "x\n",
    "python/a.pyc": "x\n",
}
OURS = [".ci/run", ".gitignore", "README.md", "src/base/a.cpp", "src/build/kept.cpp"]
OURS.append("src/local.json")


def test_a_checkout_and_an_archive_have_the_same_files(make_tree, tmp_path):
    assert list(make_tree(FILES).texts) == OURS
    shutil.rmtree(tmp_path / ".git")
    assert list(SourceTree(tmp_path).texts) == OURS


def test_archive_inside_another_checkout_is_walked(make_tree, tmp_path):
    make_tree({".gitignore": "inner\n"})
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner/a.cpp").write_text("x\n")
    assert list(SourceTree(tmp_path / "inner").texts) == ["a.cpp"]


@pytest.mark.parametrize("git", [None, "#!/bin/sh\nexit 128\n"])
def test_checkout_that_git_cannot_list_is_walked(make_tree, tmp_path, monkeypatch, git):
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    make_tree({f"checkout/{path}": text for path, text in FILES.items()})
    subprocess.run(["git", "init", "-q", str(checkout)], check=True)
    programs = tmp_path / "bin"
    programs.mkdir()
    if git is not None:
        (programs / "git").write_text(git)
        (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    assert list(SourceTree(checkout).texts) == OURS


def test_ignore_rules_of_this_project_work_without_git(make_tree, tmp_path):
    rules = (ROOT / ".gitignore").read_text(encoding="utf-8")
    made = [
        ".venv/a",
        ".cache/a",
        "CMakeUserPresets.json",
        "src/.ruff_cache/a",
        "x/.pytest_cache/a",
    ]
    files = FILES | {".gitignore": rules} | dict.fromkeys(made, "x\n")
    listed = list(make_tree(files).texts)
    shutil.rmtree(tmp_path / ".git")
    assert list(SourceTree(tmp_path).texts) == listed
    assert not set(made) & set(listed)
