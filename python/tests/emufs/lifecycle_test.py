# SPDX-License-Identifier: Apache-2.0
"""From mounting to unmounting under adverse conditions: stalled servers, programs that use the
mount, other mounts at the same path. Nothing hangs, and other mounts do not change."""

import errno
import os
import signal
import subprocess
import time

import pytest

from forebay import native


def expect_error(program, *args) -> str:
    return program("mount", *args, code=1)["message"]


def is_mounted(path) -> bool:
    return any(line.split()[1] == str(path) for line in open("/proc/mounts", encoding="utf-8"))


@pytest.fixture
def mount_folders(tmp_path):
    """A backing directory, and a mount point for it."""
    backing, point = tmp_path / "backing", tmp_path / "point"
    backing.mkdir()
    point.mkdir()
    yield backing, point
    subprocess.run(["umount", "-q", "-l", point], capture_output=True, timeout=30)


def test_slowness_beyond_the_limit_is_refused(emufs, machine_file):
    mount = emufs("--machine", machine_file("free"))
    for slowness in (2e6, 1e300, -1.0):
        with pytest.raises(OSError) as failed:
            mount.command(kind="server", number=0, slowness=slowness)
        assert failed.value.errno == errno.EINVAL
    mount.command(kind="server", number=0, slowness=1e6)
    assert mount.is_alive()


def test_command_line_refuses_slowness_beyond_the_limit(emufs, machine_file, forebay):
    mount = emufs("--machine", machine_file("free"))
    completed = forebay("emufs", "fault", "server", mount.path, 0, "--slow", 2_000_000)
    assert (completed.code, "--slow" in completed.err) == (2, True)
    assert mount.is_alive()


def test_record_in_the_mount_or_its_backing_directory_is_refused(mount_folders, program):
    backing, point = mount_folders
    (backing / "sub").mkdir()
    link = backing.parent / "link"
    link.symlink_to(point)
    for record in (point / "r", link / "r", backing / "r", backing / "sub" / "r"):
        printed = expect_error(program, "--record", record, backing, point)
        assert "record" in printed and "another directory" in printed
        assert not record.exists()
    assert not is_mounted(point)


def test_record_in_a_missing_directory_is_refused(mount_folders, program):
    backing, point = mount_folders
    printed = expect_error(program, "--record", backing.parent / "missing" / "r", backing, point)
    assert "missing/r" in printed
    assert not is_mounted(point)


def test_background_process_holds_no_descriptor_of_its_caller(mount_folders, program):
    """A pipe on a descriptor that the command inherited ends when the command ends."""
    backing, point = mount_folders
    reading, writing = os.pipe()
    args = [native.find_program("forebay-emufs"), "mount", backing, point]
    with open(reading, "rb") as pipe:
        try:
            done = subprocess.run(args, pass_fds=[writing], capture_output=True, timeout=60)
        finally:
            os.close(writing)
        assert done.returncode == 0, done.stderr
        os.set_blocking(pipe.fileno(), False)
        assert pipe.read() == b""
    program("unmount", point)


def test_backing_directory_has_one_emufs_at_a_time(emufs, mount_folders, program):
    _, point = mount_folders
    mount = emufs("--machine", "local")
    printed = expect_error(program, mount.backing, point)
    assert "--clients" in printed and "backing directory" in printed
    assert not is_mounted(point)
    program("unmount", mount.path)
    program("mount", mount.backing, point)
    program("unmount", point)


def test_backing_directory_of_a_lazily_unmounted_emufs_is_in_use(
    emufs, mount_folders, program, until
):
    _, point = mount_folders
    mount = emufs("--machine", "local")
    with open(mount.path / "a", "wb"):
        program("unmount", "--lazy", mount.path)
        assert "--clients" in expect_error(program, mount.backing, point)
    until(lambda: not mount.is_alive(), "the end of an unused emufs")
    program("mount", mount.backing, point)
    program("unmount", point)


def test_backing_directories_that_contain_each_other_are_refused(
    emufs, mount_folders, program, tmp_path
):
    _, point = mount_folders
    mount = emufs("--machine", "local")
    (mount.backing / "sub").mkdir()
    assert "--clients" in expect_error(program, mount.backing / "sub", point)
    outside = tmp_path / "outside"
    (outside / "in").mkdir(parents=True)
    emufs("--machine", "local", backing=outside / "in")
    assert "--clients" in expect_error(program, outside, point)
    assert not is_mounted(point)


def test_backing_directory_of_a_killed_emufs_is_free(emufs, mount_folders, program):
    _, point = mount_folders
    mount = emufs("--machine", "local")
    (mount.path / "sub").mkdir()
    mount.kill()
    for backing in (mount.backing, mount.backing / "sub"):
        program("mount", backing, point)
        program("unmount", point)


def has_stalled_metadata(mount, delays) -> bool:
    """Stalls the metadata server, and waits until the kernel's attributes of directories, which are
    valid for one second, have expired."""
    mount.command(kind="server", number=0, metadata=True, state="stall")
    time.sleep(1.1)
    return mount.stat()["delays"] == (delays == "delays")


@pytest.fixture(params=["delays", "no-delay"])
def stalled(request, emufs, machine_file):
    """A mount of two clients whose operations on names get no reply."""
    options = ["--no-delay"] if request.param == "no-delay" else []
    mount = emufs("--machine", machine_file("slow"), *options, clients=2)
    assert has_stalled_metadata(mount, request.param)
    return mount


@pytest.mark.parametrize("options", [(), ("--lazy",)], ids=["free", "lazy"])
def test_stalled_metadata_server_does_not_block_unmounting(stalled, program, options, until):
    program("unmount", *options, stalled.path)
    until(lambda: not stalled.is_alive(), "the end of an unmounted emufs")
    assert list(stalled.path.iterdir()) == []


def test_stalled_metadata_server_can_be_cleared(stalled, program, tmp_path):
    assert "it is a mount already" in expect_error(program, tmp_path, stalled.clients[1])
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
def other_backing(tmp_path):
    """Another backing directory."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    (folder / "second").write_bytes(b"second")
    return folder


@pytest.mark.parametrize("clients", [1, 2])
def test_ending_emufs_keeps_a_later_mount(emufs, program, other_backing, until, clients):
    machine = ("--machine", "lustre-small", "--no-delay")
    first = emufs(*machine, clients=clients)
    with open(first.clients[0] / "a", "wb"):
        program("unmount", "--lazy", first.path)
        second = program("mount", *machine, "--clients", clients, other_backing, first.path)
    try:
        until(lambda: not first.is_alive(), "the end of an unused emufs")
        assert all(is_mounted(point) for point in first.clients)
        assert (first.clients[0] / "second").read_bytes() == b"second"
        assert os.path.exists(f"/proc/{second['pid']}")
    finally:
        program("unmount", first.path)
    assert list(first.path.iterdir()) == []


def test_sigterm_ends_an_unmounted_emufs_in_use(emufs, program, until):
    mount = emufs("--machine", "local")
    file = os.open(mount.path / "a", os.O_RDWR | os.O_CREAT)
    program("unmount", "--lazy", mount.path)
    os.kill(mount.pid, signal.SIGTERM)
    until(lambda: not mount.is_alive(), "the end after SIGTERM")
    for use in (lambda: os.write(file, b"x"), lambda: os.close(file)):
        with pytest.raises(OSError) as failed:
            use()
        assert failed.value.errno in (errno.ENOTCONN, errno.ECONNABORTED)


def test_waiting_program_does_not_block_the_end_of_emufs(stalled, until):
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


def test_mount_over_an_emufs_stays_when_emufs_ends(emufs, program, other_backing, until):
    mount = emufs("--machine", "local")
    subprocess.run(["mount", "--bind", other_backing, mount.path], check=True, timeout=30)
    try:
        assert "covered" in program("unmount", mount.path, code=1)["message"]
        os.kill(mount.pid, signal.SIGTERM)
        until(lambda: not mount.is_alive(), "the end after SIGTERM")
        assert (mount.path / "second").read_bytes() == b"second"
    finally:
        subprocess.run(["umount", mount.path], check=True, timeout=30)
    program("unmount", mount.path)
    assert not is_mounted(mount.path)


def test_bind_mount_of_an_emufs_is_removed_with_it(emufs, other_backing, until):
    mount = emufs("--machine", "local")
    subprocess.run(["mount", "--bind", mount.path, other_backing], check=True, timeout=30)
    try:
        subprocess.run(["umount", mount.path], check=True, timeout=30)
        os.kill(mount.pid, signal.SIGTERM)
        until(lambda: not mount.is_alive(), "the end after SIGTERM")
        assert not is_mounted(other_backing)
    finally:
        subprocess.run(["umount", "-q", "-l", other_backing], capture_output=True, timeout=30)


def test_busy_client_keeps_all_mounts(emufs, program, machine_file):
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


def test_killed_emufs_is_unmounted_although_one_client_is_busy(emufs, program, machine_file):
    mount = emufs("--machine", machine_file("free"), clients=3)
    file = os.open(mount.clients[1] / "a", os.O_RDWR | os.O_CREAT)
    mount.kill()
    program("unmount", mount.path)
    assert list(mount.path.iterdir()) == []
    with pytest.raises(OSError):
        os.close(file)


def test_two_emufs_in_user_directories_are_not_taken_for_clients(tmp_path, program):
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
        # The remaining mount could be a client's, but emufs did not create its directory.
        program("unmount", tmp_path / "mnt")
    assert all(point.is_dir() and not is_mounted(point) for point in points)


def test_a_fault_does_not_move_to_a_new_file(emufs, machine_file):
    """File systems reuse the inode number of a removed file for the next new file."""
    mount = emufs("--machine", machine_file("free"))
    old = mount.path / "old"
    old.write_bytes(b"x")
    mount.command(kind="eio", path="old")
    old.unlink()
    for number in range(200):
        (mount.path / f"new{number}").write_bytes(b"x")
