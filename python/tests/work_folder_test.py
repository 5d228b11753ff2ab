# SPDX-License-Identifier: Apache-2.0
"""Temporary directories in a directory of the user: only those of killed runs are removed."""

import shutil
import subprocess
import sys

import pytest

from forebay.errors import ForebayError
from forebay.work_folder import work_folder


def test_directory_is_new_and_removed_at_the_end(tmp_path):
    with work_folder(tmp_path, "x") as place:
        assert place.parent == tmp_path
        assert [file.name for file in place.iterdir()] == ["lock"]
    assert not list(tmp_path.iterdir())


def test_files_of_the_user_are_kept(tmp_path):
    for name in ("presets", "checkpoints", "emufs", ".forebay-x-mine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.txt").write_text("years")
    with work_folder(tmp_path, "x"):
        pass
    assert len(list(tmp_path.glob("*/thesis.txt"))) == 4


def test_concurrent_directories_are_separate(tmp_path):
    with work_folder(tmp_path, "x") as one, work_folder(tmp_path, "x") as other:
        assert one != other
        assert one.is_dir()


def test_directory_of_a_killed_run_is_removed_by_the_next(tmp_path):
    code = (
        "import os, signal, sys; from pathlib import Path;"
        "from forebay.work_folder import work_folder\n"
        "with work_folder(Path(sys.argv[1]), 'x') as place:\n"
        "    (place / 'data').write_text('much'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=False)
    (stale,) = tmp_path.iterdir()
    removed = []

    def remove(place):
        removed.append(place)
        shutil.rmtree(place)

    with work_folder(tmp_path, "x", remove) as place:
        assert removed == [stale]
    assert removed == [stale, place]


def test_directory_that_cannot_be_created_is_one_line(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    refused = pytest.raises(ForebayError, match="cannot create a directory in .*; choose another")
    with refused, work_folder(file, "x"):
        pass
