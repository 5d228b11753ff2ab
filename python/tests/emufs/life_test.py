# SPDX-License-Identifier: Apache-2.0
"""From mounting to unmounting where somebody is in the way: servers that stall, programs that hold
on, mounts of others at the same place. Nothing hangs, and nobody else's mount is touched."""

import errno
import os
import signal
import subprocess
import time

import pytest

from forebay import native


def refusal(program, *words) -> str:
    return program("mount", *words, code=1)["message"]


def is_mounted(path) -> bool:
    return any(line.split()[1] == str(path) for line in open("/proc/mounts", encoding="utf-8"))


@pytest.fixture
def places(tmp_path):
    """A backing folder, and a mount point for it."""
    backing, point = tmp_path / "backing", tmp_path / "point"
    backing.mkdir()
    point.mkdir()
    yield backing, point
    subprocess.run(["umount", "-q", "-l", point], capture_output=True, timeout=30)


def test_a_slowness_beyond_the_models_is_refused(emufs, machine_file):
    mount = emufs("--machine", machine_file("free"))
    for slowness in (2e6, 1e300, -1.0):
        with pytest.raises(OSError) as failed:
            mount.command(kind="server", number=0, slowness=slowness)
        assert failed.value.errno == errno.EINVAL
    mount.command(kind="server", number=0, slowness=1e6)
    assert mount.is_alive()


def test_the_command_line_knows_the_largest_slowness(emufs, machine_file, forebay):
    mount = emufs("--machine", machine_file("free"))
    ran = forebay("emufs", "fault", "server", mount.path, 0, "--slow", 2_000_000)
    assert (ran.code, "--slow" in ran.err) == (2, True)
    assert mount.is_alive()


def test_a_record_in_the_mount_or_its_backing_folder_is_refused(places, program):
    backing, point = places
    (backing / "sub").mkdir()
    link = backing.parent / "link"
    link.symlink_to(point)
    for record in (point / "r", link / "r", backing / "r", backing / "sub" / "r"):
        told = refusal(program, "--record", record, backing, point)
        assert "record" in told and "another folder" in told
        assert not record.exists()
    assert not is_mounted(point)


def test_a_record_in_a_folder_that_is_not_there(places, program):
    backing, point = places
    told = refusal(program, "--record", backing.parent / "missing" / "r", backing, point)
    assert "missing/r" in told
    assert not is_mounted(point)


def test_in_the_background_it_holds_nothing_of_its_caller(places, program):
    """A pipe on a descriptor that the shell handed down ends when the command does."""
    backing, point = places
    reading, writing = os.pipe()
    words = [native.find("forebay-emufs"), "mount", backing, point]
    with open(reading, "rb") as pipe:
        try:
            done = subprocess.run(words, pass_fds=[writing], capture_output=True, timeout=60)
        finally:
            os.close(writing)
        assert done.returncode == 0, done.stderr
        os.set_blocking(pipe.fileno(), False)
        assert pipe.read() == b""
    program("unmount", point)


def test_a_backing_folder_has_one_emufs_at_a_time(emufs, places, program):
    _, point = places
    mount = emufs("--machine", "local")
    told = refusal(program, mount.backing, point)
    assert "--clients" in told and "backing folder" in told
    assert not is_mounted(point)
    program("unmount", mount.path)
    program("mount", mount.backing, point)
    program("unmount", point)


def test_a_backing_folder_of_a_lazily_unmounted_emufs_is_taken(emufs, places, program, until):
    _, point = places
    mount = emufs("--machine", "local")
    with open(mount.path / "a", "wb"):
        program("unmount", "--lazy", mount.path)
        assert "--clients" in refusal(program, mount.backing, point)
    until(lambda: not mount.is_alive(), "the end of an unused emufs")
    program("mount", mount.backing, point)
    program("unmount", point)


def test_backing_folders_that_contain_each_other_are_refused(emufs, places, program, tmp_path):
    _, point = places
    mount = emufs("--machine", "local")
    (mount.backing / "sub").mkdir()
    assert "--clients" in refusal(program, mount.backing / "sub", point)
    outside = tmp_path / "outside"
    (outside / "in").mkdir(parents=True)
    emufs("--machine", "local", backing=outside / "in")
    assert "--clients" in refusal(program, outside, point)
    assert not is_mounted(point)


def test_the_backing_folder_of_a_killed_emufs_is_free(emufs, places, program):
    _, point = places
    mount = emufs("--machine", "local")
    (mount.path / "sub").mkdir()
    mount.kill()
    for backing in (mount.backing, mount.backing / "sub"):
        program("mount", backing, point)
        program("unmount", point)


def has_stalled_names(mount, delays) -> bool:
    """What kernels know of folders is a second old at most: then they ask again."""
    mount.command(kind="server", number=0, metadata=True, state="stall")
    time.sleep(1.1)
    return mount.stat()["delays"] == (delays == "delays")


@pytest.fixture(params=["delays", "no-delay"])
def stalled(request, emufs, machine_file):
    """A mount of two clients that answers nothing about names any more."""
    options = ["--no-delay"] if request.param == "no-delay" else []
    mount = emufs("--machine", machine_file("slow"), *options, clients=2)
    assert has_stalled_names(mount, request.param)
    return mount


@pytest.mark.parametrize("options", [(), ("--lazy",)], ids=["free", "lazy"])
def test_a_stalled_metadata_server_does_not_keep_from_unmounting(stalled, program, options, until):
    program("unmount", *options, stalled.path)
    until(lambda: not stalled.is_alive(), "the end of an unmounted emufs")
    assert list(stalled.path.iterdir()) == []


def test_a_stalled_metadata_server_lets_itself_be_cleared(stalled, program, tmp_path):
    assert "it is a mount already" in refusal(program, tmp_path, stalled.clients[1])
    stalled.command(kind="clear")
    (stalled.clients[0] / "a").write_bytes(b"works")


def test_a_stopped_emufs_is_unmounted_lazily(emufs, program):
    mount = emufs("--machine", "local")
    os.kill(mount.pid, signal.SIGSTOP)
    try:
        program("unmount", "--lazy", mount.path)
    finally:
        os.kill(mount.pid, signal.SIGCONT)
    assert not is_mounted(mount.path)
