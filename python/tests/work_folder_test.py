# SPDX-License-Identifier: Apache-2.0
"""Folders of our own: nobody's work is taken away but what a killed run has left."""

import shutil
import subprocess
import sys

import pytest

from forebay.errors import ForebayError
from forebay.work_folder import work_folder


def test_it_is_new_and_gone_at_the_end(tmp_path):
    with work_folder(tmp_path, "x") as place:
        assert place.parent == tmp_path
        assert [file.name for file in place.iterdir()] == ["lock"]
    assert not list(tmp_path.iterdir())


def test_what_the_user_has_there_stays(tmp_path):
    for name in ("presets", "checkpoints", "emufs", ".forebay-x-mine"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.txt").write_text("years")
    with work_folder(tmp_path, "x"):
        pass
    assert len(list(tmp_path.glob("*/thesis.txt"))) == 4


def test_two_at_a_time_leave_each_other_alone(tmp_path):
    with work_folder(tmp_path, "x") as one, work_folder(tmp_path, "x") as other:
        assert one != other
        assert one.is_dir()


def test_what_a_killed_run_has_left_goes_with_the_next(tmp_path):
    code = (
        "import os, signal, sys; from pathlib import Path;"
        "from forebay.work_folder import work_folder\n"
        "with work_folder(Path(sys.argv[1]), 'x') as place:\n"
        "    (place / 'data').write_text('much'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path], check=False)
    (rest,) = tmp_path.iterdir()
    taken = []

    def take_away(place):
        taken.append(place)
        shutil.rmtree(place)

    with work_folder(tmp_path, "x", take_away) as place:
        assert taken == [rest]
    assert taken == [rest, place]


def test_where_no_folder_can_be_made_is_one_line(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    refused = pytest.raises(ForebayError, match="cannot make a folder in .*; choose another")
    with refused, work_folder(file, "x"):
        pass
