# SPDX-License-Identifier: Apache-2.0
"""What a recording must not miss: changes that come with others, and those that are rare."""

import os

import pytest


@pytest.fixture
def recording(emufs, machine_file, tmp_path):
    """recording(*options) mounts; gives the mount and the file in which changes are kept."""

    def mount(*options):
        path = tmp_path / "changes"
        return emufs("--machine", machine_file("free"), "--record", path, *options), path

    return mount


def test_times_before_1970_come_back(recording, program, tmp_path):
    times = (-1_500_000_001, -1)
    mount, changes = recording()
    (mount.path / "old").write_bytes(b"1")
    os.utime(mount.path / "old", ns=times)
    program("replay", changes, tmp_path / "again")
    for folder in (mount.backing, tmp_path / "again"):
        status = os.stat(folder / "old")
        assert (status.st_atime_ns, status.st_mtime_ns) == times


@pytest.mark.parametrize("flag", [os.O_DSYNC, os.O_SYNC], ids=["dsync", "sync"])
@pytest.mark.parametrize("access", [os.O_WRONLY, os.O_RDWR], ids=["past_cache", "by_cache"])
def test_writes_that_sync_are_safe(recording, program, tmp_path, flag, access):
    mount, changes = recording()
    file = os.open(mount.path / "log", access | os.O_CREAT | flag)
    assert os.write(file, b"x" * 10_000) == 10_000
    assert os.pwrite(file, b"y" * 10, 10_000) == 10
    os.close(file)
    (mount.path / "other").write_bytes(b"lost")
    program("replay", changes, tmp_path / "again", "--unsynced", "none")
    assert os.listdir(tmp_path / "again") == ["log"]
    assert (tmp_path / "again" / "log").read_bytes() == b"x" * 10_000 + b"y" * 10


def test_a_single_write_that_syncs_is_safe(recording, program, tmp_path):
    mount, changes = recording()
    file = os.open(mount.path / "log", os.O_WRONLY | os.O_CREAT)
    assert os.pwritev(file, [b"safe"], 0, os.RWF_DSYNC) == 4
    os.close(file)
    program("replay", changes, tmp_path / "again", "--unsynced", "none")
    assert (tmp_path / "again" / "log").read_bytes() == b"safe"


def test_a_copy_to_a_file_that_syncs_is_safe(recording, program, tmp_path):
    mount, changes = recording()
    (mount.path / "from").write_bytes(b"x" * 10_000)
    source = os.open(mount.path / "from", os.O_RDONLY)
    target = os.open(mount.path / "to", os.O_WRONLY | os.O_CREAT | os.O_SYNC)
    assert os.copy_file_range(source, target, 10_000) == 10_000
    os.close(source)
    os.close(target)
    program("replay", changes, tmp_path / "again", "--unsynced", "none")
    assert (tmp_path / "again" / "to").read_bytes() == b"x" * 10_000


def test_a_copy_of_more_than_a_record_holds_is_cut_short(recording, program, tmp_path):
    mount, changes = recording()
    size = (1 << 30) + 5  # a record has at most 1 GiB
    with open(mount.path / "from", "wb") as file:
        file.truncate(size)
        file.seek(size - 5)
        file.write(b"tail!")
    source = os.open(mount.path / "from", os.O_RDONLY)
    target = os.open(mount.path / "to", os.O_WRONLY | os.O_CREAT)
    assert 0 < os.copy_file_range(source, target, size) < size
    assert os.copy_file_range(source, target, 10, size - 5, 3) == 5
    os.close(source)
    os.close(target)
    assert program("record-info", changes)["kinds"]["write"] == 3
    program("replay", changes, tmp_path / "again")
    assert (tmp_path / "again" / "to").read_bytes() == (mount.backing / "to").read_bytes()
    assert (mount.backing / "to").read_bytes()[3:8] == b"tail!"
