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


@pytest.fixture
def elsewhere(tmp_path):
    """Another backing folder."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "second").write_bytes(b"second")
    return folder


@pytest.mark.parametrize("clients", [1, 2])
def test_one_that_ends_leaves_what_was_mounted_after_it(emufs, program, elsewhere, until, clients):
    machine = ("--machine", "lustre-small", "--no-delay")
    first = emufs(*machine, clients=clients)
    with open(first.clients[0] / "a", "wb"):
        program("unmount", "--lazy", first.path)
        second = program("mount", *machine, "--clients", clients, elsewhere, first.path)
    try:
        until(lambda: not first.is_alive(), "the end of an unused emufs")
        assert all(is_mounted(point) for point in first.clients)
        assert (first.clients[0] / "second").read_bytes() == b"second"
        assert os.path.exists(f"/proc/{second['pid']}")
    finally:
        program("unmount", first.path)
    assert list(first.path.iterdir()) == []


def test_asked_to_end_it_does_although_an_unmounted_one_is_in_use(emufs, program, until):
    mount = emufs("--machine", "local")
    file = os.open(mount.path / "a", os.O_RDWR | os.O_CREAT)
    program("unmount", "--lazy", mount.path)
    os.kill(mount.pid, signal.SIGTERM)
    until(lambda: not mount.is_alive(), "the end after SIGTERM")
    for use in (lambda: os.write(file, b"x"), lambda: os.close(file)):
        with pytest.raises(OSError) as failed:
            use()
        assert failed.value.errno in (errno.ENOTCONN, errno.ECONNABORTED)


def test_a_program_that_waits_for_a_stalled_server_does_not_keep_it_from_ending(stalled, until):
    waiting = subprocess.Popen(["ls", "-l", stalled.clients[0]], stderr=subprocess.DEVNULL)
    try:
        until(lambda: stalled.stat()["totals"]["under_way"] > 0, "a request that waits")
        os.kill(stalled.pid, signal.SIGTERM)
        until(lambda: not stalled.is_alive(), "the end after SIGTERM")
        assert waiting.wait(30) != 0
    finally:
        waiting.kill()
        waiting.wait()
    assert not is_mounted(stalled.clients[0])


def test_what_covers_a_mount_stays_when_it_ends(emufs, program, elsewhere, until):
    mount = emufs("--machine", "local")
    subprocess.run(["mount", "--bind", elsewhere, mount.path], check=True, timeout=30)
    try:
        assert "covered" in program("unmount", mount.path, code=1)["message"]
        os.kill(mount.pid, signal.SIGTERM)
        until(lambda: not mount.is_alive(), "the end after SIGTERM")
        assert (mount.path / "second").read_bytes() == b"second"
    finally:
        subprocess.run(["umount", mount.path], check=True, timeout=30)
    program("unmount", mount.path)
    assert not is_mounted(mount.path)


def test_a_mount_that_is_shown_elsewhere_is_taken_away_there(emufs, elsewhere, until):
    mount = emufs("--machine", "local")
    subprocess.run(["mount", "--bind", mount.path, elsewhere], check=True, timeout=30)
    try:
        subprocess.run(["umount", mount.path], check=True, timeout=30)
        os.kill(mount.pid, signal.SIGTERM)
        until(lambda: not mount.is_alive(), "the end after SIGTERM")
        assert not is_mounted(elsewhere)
    finally:
        subprocess.run(["umount", "-q", "-l", elsewhere], capture_output=True, timeout=30)


def test_where_one_client_is_busy_all_stay(emufs, program, machine_file):
    mount = emufs("--machine", machine_file("free"), clients=3)
    for _ in range(3):
        with open(mount.clients[2] / "a", "wb"):
            error = program("unmount", mount.path, code=1)
            assert error["errno"] == errno.EBUSY
            assert f"{os.getpid()} (" in error["message"]
        for point in mount.clients:
            assert is_mounted(point)
        (mount.clients[0] / "b").write_bytes(b"works")
    program("unmount", mount.path)
    assert list(mount.path.iterdir()) == []


def test_a_killed_emufs_of_several_clients_is_unmounted_although_one_is_busy(
    emufs, program, machine_file
):
    mount = emufs("--machine", machine_file("free"), clients=3)
    file = os.open(mount.clients[1] / "a", os.O_RDWR | os.O_CREAT)
    mount.kill()
    program("unmount", mount.path)
    assert list(mount.path.iterdir()) == []
    with pytest.raises(OSError):
        os.close(file)


def test_two_emufs_in_folders_of_the_user_are_not_taken_for_clients(tmp_path, program):
    points = [tmp_path / "mnt" / name for name in "12"]
    for point in points:
        point.mkdir(parents=True)
        (tmp_path / f"backing{point.name}").mkdir()
        program("mount", tmp_path / f"backing{point.name}", point)
    try:
        assert "several emufs" in program("unmount", tmp_path / "mnt", code=1)["message"]
        assert all(is_mounted(point) for point in points)
    finally:
        program("unmount", points[0])
        # The one that is left could be a client; what it is mounted on is not its to remove.
        program("unmount", tmp_path / "mnt")
    assert all(point.is_dir() and not is_mounted(point) for point in points)


def test_a_fault_does_not_move_to_a_new_file(emufs, machine_file):
    """File systems give the number of a removed file to the next one that is made."""
    mount = emufs("--machine", machine_file("free"))
    old = mount.path / "old"
    old.write_bytes(b"x")
    mount.command(kind="eio", path="old")
    old.unlink()
    for number in range(200):
        (mount.path / f"new{number}").write_bytes(b"x")
