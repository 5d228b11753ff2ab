# SPDX-License-Identifier: Apache-2.0
"""Changes that a recording must include: implied by other changes, or rare."""

import errno
import os
import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def recording(emufs, machine_file, tmp_path):
    """recording(*options) mounts. Returns the mount and the file of the recording."""

    def mount(*options):
        path = tmp_path / "changes"
        return emufs("--machine", machine_file("free"), "--record", path, *options), path

    return mount


def sync_folder(path) -> None:
    folder = os.open(path, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def test_times_before_1970_are_replayed(recording, program, tmp_path):
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
def test_synchronous_writes_survive(recording, program, tmp_path, flag, access):
    mount, changes = recording()
    file = os.open(mount.path / "log", access | os.O_CREAT | flag)
    assert os.write(file, b"x" * 10_000) == 10_000
    assert os.pwrite(file, b"y" * 10, 10_000) == 10
    os.close(file)
    sync_folder(mount.path)
    (mount.path / "other").write_bytes(b"lost")
    program("replay", changes, tmp_path / "again", "--unsynced", "none")
    assert os.listdir(tmp_path / "again") == ["log"]
    assert (tmp_path / "again" / "log").read_bytes() == b"x" * 10_000 + b"y" * 10


def test_single_synchronous_write_survives(recording, program, tmp_path):
    mount, changes = recording()
    file = os.open(mount.path / "log", os.O_WRONLY | os.O_CREAT)
    assert os.pwritev(file, [b"safe"], 0, os.RWF_DSYNC) == 4
    os.close(file)
    sync_folder(mount.path)
    program("replay", changes, tmp_path / "again", "--unsynced", "none")
    assert (tmp_path / "again" / "log").read_bytes() == b"safe"


def test_copy_to_a_synchronous_file_survives(recording, program, tmp_path):
    mount, changes = recording()
    (mount.path / "from").write_bytes(b"x" * 10_000)
    source = os.open(mount.path / "from", os.O_RDONLY)
    target = os.open(mount.path / "to", os.O_WRONLY | os.O_CREAT | os.O_SYNC)
    assert os.copy_file_range(source, target, 10_000) == 10_000
    os.close(source)
    os.close(target)
    sync_folder(mount.path)
    program("replay", changes, tmp_path / "again", "--unsynced", "none")
    assert (tmp_path / "again" / "to").read_bytes() == b"x" * 10_000


def test_copy_longer_than_a_record_is_short(recording, program, tmp_path):
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


USER = 1000


def as_user(folder, work):
    """Calls work() in the directory, in a process of a user without access to its parents."""
    child = os.fork()
    if child == 0:
        try:
            os.chdir(folder)
            os.setgroups([])
            os.setresgid(USER, USER, USER)
            os.setresuid(USER, USER, USER)
            os.umask(0)
            work()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def owners_and_modes(folder) -> dict:
    paths = [folder, *sorted(folder.rglob("*"))]
    states = {str(path.relative_to(folder)): os.lstat(path) for path in paths}
    return {name: (is_.st_uid, is_.st_gid, oct(is_.st_mode)) for name, is_ in states.items()}


def make_all_user_changes(path):
    (path / "folder").mkdir()
    (path / "folder" / "file").write_bytes(b"1")
    os.symlink("file", path / "link")
    os.mkfifo(path / "pipe")
    os.mknod(path / "node", 0o644)
    os.close(os.open(path / "runs", os.O_WRONLY | os.O_CREAT, 0o6755))
    (path / "of_group" / "folder").mkdir()
    (path / "of_group" / "file").write_bytes(b"1")
    os.mkfifo(path / "of_group" / "pipe")


def test_replayed_files_keep_their_owners(recording, program, tmp_path):
    mount, changes = recording()
    mount.path.chmod(0o777)
    (mount.path / "of_group").mkdir()
    os.chown(mount.path / "of_group", 0, 50)
    (mount.path / "of_group").chmod(0o2777)
    as_user(mount.path, lambda: make_all_user_changes(Path()))
    made = owners_and_modes(mount.backing)
    assert made["folder"][:2] == made["link"][:2] == made["pipe"][:2] == (USER, USER)
    assert made["of_group/pipe"][:2] == (USER, 50)
    program("replay", changes, tmp_path / "again")
    assert owners_and_modes(tmp_path / "again") == made


def changes_of_set_id_files():
    def write(path):
        with open(path, "r+b") as file:
            file.write(b"2")

    def write_past_the_cache(path):
        file = os.open(path, os.O_WRONLY)
        os.write(file, b"2")
        os.close(file)

    def open_to_truncate(path):
        os.close(os.open(path, os.O_WRONLY | os.O_TRUNC))

    def truncate(path):
        os.truncate(path, 1)

    return [write, write_past_the_cache, open_to_truncate, truncate]


@pytest.mark.parametrize("change", changes_of_set_id_files(), ids=lambda one: one.__name__)
def test_cleared_set_id_bits_are_replayed(recording, program, tmp_path, change):
    mount, changes = recording()
    (mount.path / "runs").write_bytes(b"123")
    (mount.path / "runs").chmod(0o6777)
    as_user(mount.path, lambda: change("runs"))
    left = owners_and_modes(mount.backing)
    assert left["runs"] == (0, 0, oct(0o100777))
    program("replay", changes, tmp_path / "again")
    assert owners_and_modes(tmp_path / "again") == left


@pytest.fixture
def small_disk(can_mount, tmp_path):
    """A file system of 1 MiB."""
    path = tmp_path / "small"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "small", path], check=True, timeout=30)
    yield path
    subprocess.run(["umount", "--lazy", path], check=True, timeout=30)


@pytest.fixture
def small_recording(small_disk, emufs, machine_file):
    """A mount, and the file of its recording, on a small disk."""
    changes = small_disk / "changes"
    return emufs("--machine", machine_file("free"), "--record", changes), changes


def test_stopped_recording_is_reported(small_recording, program, forebay, tmp_path):
    mount, changes = small_recording
    safe = 0
    file = os.open(mount.path / "log", os.O_WRONLY | os.O_CREAT)
    for i in range(4):
        assert os.pwrite(file, b"x" * 400_000, i * 400_000) == 400_000
        try:
            os.fsync(file)
            safe = (i + 1) * 400_000
        except OSError as error:
            assert error.errno == errno.EIO
    folder = os.open(mount.path, os.O_RDONLY)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        os.fsync(folder)
    os.close(folder)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        os.pwritev(file, [b"x"], 0, os.RWF_DSYNC)
    os.close(file)
    assert safe == 800_000
    assert (mount.backing / "log").stat().st_size == 1_600_000
    assert mount.stat()["record"]["broken"] == errno.ENOSPC
    assert program("record-info", changes)["is_incomplete"]
    assert program("replay", changes, tmp_path / "again")["is_incomplete"]
    assert (tmp_path / "again" / "log").stat().st_size == safe
    text = "later changes are missing"
    for args in (("record-info", changes), ("replay", changes, tmp_path / "once_more")):
        assert text in " ".join(forebay("emufs", *args).out.split())


def test_complete_recording_is_not_reported_as_stopped(recording, program, tmp_path):
    mount, changes = recording()
    (mount.path / "a").write_bytes(b"1")
    assert not program("record-info", changes)["is_incomplete"]
    assert not program("replay", changes, tmp_path / "again")["is_incomplete"]
