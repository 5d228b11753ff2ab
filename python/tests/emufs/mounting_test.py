# SPDX-License-Identifier: Apache-2.0
"""Mounting, unmounting, and all that may be in the way of either: what a user is told, and that
nothing is lost in the backing folder."""

import errno
import os
import subprocess
from pathlib import Path

import pytest

MIB = 1 << 20


def is_mounted(path) -> bool:
    return any(line.split()[1] == str(path) for line in open("/proc/mounts", encoding="utf-8"))


def test_files_lie_in_the_backing_folder(emufs):
    mount = emufs("--machine", "local")
    (mount.path / "a").mkdir()
    (mount.path / "a" / "b").write_bytes(b"bytes")
    assert (mount.backing / "a" / "b").read_bytes() == b"bytes"
    assert mount.stat()["totals"]["bytes_written"] == 5


def test_unmounting_ends_the_program_and_a_new_mount_shows_the_same(emufs, program):
    mount = emufs("--machine", "local")
    (mount.path / "a").write_bytes(b"kept")
    program("unmount", mount.path)
    assert not is_mounted(mount.path)
    assert not mount.is_alive()
    assert list(mount.path.iterdir()) == []
    again = emufs("--machine", "local", backing=mount.backing)
    assert (again.path / "a").read_bytes() == b"kept"


def test_several_clients_have_a_mount_each_and_leave_no_folders(emufs, program, machine_file):
    mount = emufs("--machine", machine_file("free"), clients=3)
    assert mount.clients == [mount.path / str(i) for i in range(3)]
    program("unmount", mount.path)
    assert list(mount.path.iterdir()) == []
    assert not mount.is_alive()


def refusal(program, *words) -> str:
    return program("mount", *words, code=1)["message"]


def test_places_that_will_not_do(tmp_path, program):
    backing, point, full = tmp_path / "backing", tmp_path / "point", tmp_path / "full"
    for folder in (backing, point, full, backing / "inside", point.parent / "full" / "x"):
        folder.mkdir(parents=True, exist_ok=True)
    missing = tmp_path / "missing"
    file = tmp_path / "file"
    file.write_bytes(b"")
    assert "backing folder" in refusal(program, missing, point)
    assert "must be a folder; make it first" in refusal(program, backing, missing)
    assert "it is no folder" in refusal(program, backing, file)
    assert "it is not empty" in refusal(program, backing, full)
    assert "inside the backing folder" in refusal(program, backing, backing / "inside")
    (full / "x" / "y").mkdir()
    assert "it is not empty" in refusal(program, full / "x", full)
    assert not is_mounted(point)


def test_a_mount_point_that_is_a_mount(emufs, program, tmp_path):
    mount = emufs("--machine", "local")
    assert "it is a mount already" in refusal(program, tmp_path, mount.path)


def test_machines_that_will_not_do(tmp_path, program, machine_file):
    backing, point = tmp_path / "backing", tmp_path / "point"
    backing.mkdir()
    point.mkdir()
    words = (backing, point)
    assert "lustre-small" in refusal(program, "--machine", "lustre-smal", *words)
    broken = tmp_path / "broken.toml"
    broken.write_text("format = 1\nname = 'x'\nspeed = 7\n")
    assert "broken.toml" in refusal(program, "--machine", broken, *words)
    free = machine_file("free")
    assert "the machine has 4" in refusal(program, "--machine", free, "--clients", 5, *words)


def test_wrong_words_are_usage_errors(program):
    for words in (["mount", "a"], ["mount", "--fast", "a", "b"], ["sing"], ["unmount"]):
        assert program(*words, code=2)["class"] == "usage"


def test_a_busy_mount_names_who_uses_it(emufs, program):
    mount = emufs("--machine", "local")
    sleeper = subprocess.Popen(["sleep", "60"], cwd=mount.path)
    try:
        error = program("unmount", mount.path, code=1)
        assert error["errno"] == errno.EBUSY
        assert f"{sleeper.pid} (sleep)" in error["message"]
        assert "--lazy" in error["message"]
        assert is_mounted(mount.path)
    finally:
        sleeper.kill()
        sleeper.wait()
    program("unmount", mount.path)


def test_lazily_a_busy_mount_ends_with_its_user(emufs, program, until):
    mount = emufs("--machine", "local")
    file = os.open(mount.path / "a", os.O_RDWR | os.O_CREAT)
    program("unmount", "--lazy", mount.path)
    assert not is_mounted(mount.path)
    os.write(file, b"late")
    os.close(file)
    until(lambda: not mount.is_alive(), "the end of an unused emufs")
    assert (mount.backing / "a").read_bytes() == b"late"


def test_after_a_crash_it_is_cleaned_up_and_nothing_is_lost(emufs, program, tmp_path):
    mount = emufs("--machine", "lustre-small")
    (mount.path / "a").write_bytes(b"x" * 100_000)
    mount.kill()
    with pytest.raises(OSError) as failed:
        (mount.path / "a").read_bytes()
    assert failed.value.errno in (errno.ENOTCONN, errno.ECONNABORTED)
    assert "a killed emufs left its mount" in refusal(program, tmp_path, mount.path)
    program("unmount", mount.path)
    assert not is_mounted(mount.path)
    assert (mount.backing / "a").read_bytes() == b"x" * 100_000


def test_a_crash_with_several_clients_is_cleaned_up(emufs, program, machine_file):
    mount = emufs("--machine", machine_file("free"), clients=2)
    mount.kill()
    program("unmount", mount.path)
    assert list(mount.path.iterdir()) == []


def test_asked_to_end_it_unmounts(emufs, until):
    mount = emufs("--machine", "lustre-small")
    file = os.open(mount.path / "a", os.O_RDWR | os.O_CREAT)
    os.kill(mount.pid, 15)
    until(lambda: not mount.is_alive(), "the end after SIGTERM")
    assert not is_mounted(mount.path)
    for use in (lambda: os.write(file, b"x"), lambda: os.close(file)):
        with pytest.raises(OSError) as failed:
            use()
        assert failed.value.errno in (errno.ENOTCONN, errno.ECONNABORTED)


def test_unmounting_what_is_no_mount(tmp_path, program):
    assert "no emufs is mounted there" in program("unmount", tmp_path, code=1)["message"]


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 4 MiB, unmounted at the end."""
    path = tmp_path / "disk"
    path.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4M", "emufs-test", path],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted: {done.stderr.strip()}")
    yield path
    subprocess.run(["umount", "-l", path], check=True, timeout=30)


@pytest.mark.parametrize("machine", ["local", "lustre-small"])
def test_a_full_disk_is_passed_on_and_nothing_is_lost(emufs, small_disk, machine, program, until):
    folder = small_disk / "backing"
    mount = emufs("--machine", machine, backing=folder)
    written = 0
    with open(mount.path / "a", "wb", buffering=0) as file:
        with pytest.raises(OSError) as failed:
            for _ in range(100):
                written += file.write(os.urandom(MIB // 4))
        assert failed.value.errno == errno.ENOSPC
    assert written > MIB
    assert (mount.path / "a").stat().st_size == written
    (mount.path / "a").unlink()
    # The kernel lets go of a removed file a moment after its program has.
    until(lambda: os.statvfs(small_disk).f_bfree > 0, "room after removing a file")
    (mount.path / "b").write_bytes(b"room again")
    program("unmount", mount.path)
    assert (folder / "b").read_bytes() == b"room again"


def test_the_foreground_stays_until_the_mount_ends(tmp_path, program):
    from forebay import native

    backing, point = tmp_path / "backing", tmp_path / "point"
    backing.mkdir()
    point.mkdir()
    words = [native.find("forebay-emufs"), "mount", "--foreground", backing, point]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().strip() == "{"
        assert is_mounted(point)
        assert process.poll() is None
        program("unmount", point)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        subprocess.run(["umount", "-l", point], capture_output=True)


def test_what_a_backing_folder_has_is_there(emufs, tmp_path):
    backing = tmp_path / "full"
    (backing / "sub").mkdir(parents=True)
    (backing / "sub" / "file").write_bytes(b"before")
    os.symlink("sub/file", backing / "link")
    mount = emufs("--machine", "nfs", backing=backing)
    assert (mount.path / "link").read_bytes() == b"before"
    assert sorted(one.name for one in Path(mount.path).iterdir()) == ["link", "sub"]


def test_by_the_command_line(forebay, tmp_path, can_mount, machine_file):
    backing, point = tmp_path / "backing", tmp_path / "point"
    backing.mkdir()
    point.mkdir()
    options = ("--machine", machine_file("free"), "--clients", 2)
    mounted = forebay("emufs", "mount", *options, backing, point, "--json", "-")
    try:
        assert mounted.json["mount_points"] == [str(point / "0"), str(point / "1")]
        (point / "0" / "a").write_bytes(b"x" * 1000)
        document = forebay("emufs", "stat", point / "1", "--json", "-").json
        assert [row["bytes_written"] for row in document["clients"]] == [1000, 0]
        assert len(document["servers"]) == 4
        table = forebay("emufs", "stat", point / "0", "--reset").out
        assert "Metadata servers" in table
        document = forebay("emufs", "stat", point / "0", "--json", "-").json
        assert document["totals"]["bytes_written"] == 0
    finally:
        ran = forebay("emufs", "unmount", point)
    assert ran.out == f"{point} is unmounted\n"
    assert list(point.iterdir()) == []
    ran = forebay("emufs", "stat", point)
    assert (ran.code, "is no mount of emufs" in ran.err) == (1, True)
