# SPDX-License-Identifier: Apache-2.0
"""Mounting, unmounting, and what may prevent either: errors for the user, and no lost data in the
backing directory."""

import errno
import os
import subprocess
from pathlib import Path

import pytest

MIB = 1 << 20


def is_mounted(path) -> bool:
    return any(line.split()[1] == str(path) for line in open("/proc/mounts", encoding="utf-8"))


def test_files_are_in_the_backing_directory(emufs):
    mount = emufs("--machine", "local")
    (mount.path / "a").mkdir()
    (mount.path / "a" / "b").write_bytes(b"bytes")
    assert (mount.backing / "a" / "b").read_bytes() == b"bytes"
    assert mount.stat()["totals"]["bytes_written"] == 5


def test_unmount_ends_emufs_and_a_new_mount_has_the_same_files(emufs, program):
    mount = emufs("--machine", "local")
    (mount.path / "a").write_bytes(b"kept")
    program("unmount", mount.path)
    assert not is_mounted(mount.path)
    assert not mount.is_alive()
    assert list(mount.path.iterdir()) == []
    again = emufs("--machine", "local", backing=mount.backing)
    assert (again.path / "a").read_bytes() == b"kept"


def test_several_clients_have_a_mount_each_and_leave_no_directories(emufs, program, machine_file):
    mount = emufs("--machine", machine_file("free"), clients=3)
    assert mount.clients == [mount.path / str(i) for i in range(3)]
    program("unmount", mount.path)
    assert list(mount.path.iterdir()) == []
    assert not mount.is_alive()


def expect_error(program, *args) -> str:
    return program("mount", *args, code=1)["message"]


@pytest.mark.parametrize("table", ["network", "io_nodes", "sharing", "storage"])
def test_tables_that_are_not_emulated_are_refused(tmp_path, program, machine_file, table):
    key = {"io_nodes": "count = 2", "network": "", "storage": "write_mb_per_s = 5"}
    machine = tmp_path / "tables.toml"
    numbers = key.get(table, "file_mb_per_s = 1")
    machine.write_text(Path(machine_file("free")).read_text() + f"[{table}]\n{numbers}\n")
    (tmp_path / "backing").mkdir()
    (tmp_path / "point").mkdir()
    folders = (tmp_path / "backing", tmp_path / "point")
    message = expect_error(program, "--machine", machine, *folders)
    assert message.endswith(
        f"emufs does not emulate [{table}]; choose a machine without this table"
    )


def test_unsuitable_directories_are_refused(tmp_path, program):
    backing, point, full = tmp_path / "backing", tmp_path / "point", tmp_path / "full"
    for folder in (backing, point, full, backing / "inside", point.parent / "full" / "x"):
        folder.mkdir(parents=True, exist_ok=True)
    missing = tmp_path / "missing"
    file = tmp_path / "file"
    file.write_bytes(b"")
    assert "backing directory" in expect_error(program, missing, point)
    assert "must be a directory; create it first" in expect_error(program, backing, missing)
    assert "it is not a directory" in expect_error(program, backing, file)
    assert "it is not empty" in expect_error(program, backing, full)
    assert "inside the backing directory" in expect_error(program, backing, backing / "inside")
    (full / "x" / "y").mkdir()
    assert "it is not empty" in expect_error(program, full / "x", full)
    assert not is_mounted(point)


def test_mount_point_that_is_a_mount_is_refused(emufs, program, tmp_path):
    mount = emufs("--machine", "local")
    assert "it is a mount already" in expect_error(program, tmp_path, mount.path)


def test_unsuitable_machines_are_refused(tmp_path, program, machine_file):
    backing, point = tmp_path / "backing", tmp_path / "point"
    backing.mkdir()
    point.mkdir()
    args = (backing, point)
    assert "lustre-small" in expect_error(program, "--machine", "lustre-smal", *args)
    broken = tmp_path / "broken.toml"
    broken.write_text("format = 1\nname = 'x'\nspeed = 7\n")
    assert "broken.toml" in expect_error(program, "--machine", broken, *args)
    free = machine_file("free")
    assert "the machine has 4" in expect_error(program, "--machine", free, "--clients", 5, *args)


def test_wrong_arguments_are_usage_errors(program):
    for args in (["mount", "a"], ["mount", "--fast", "a", "b"], ["sing"], ["unmount"]):
        assert program(*args, code=2)["class"] == "usage"


def test_unmount_of_a_busy_mount_names_its_processes(emufs, program):
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


def test_lazily_unmounted_busy_mount_ends_when_it_is_unused(emufs, program, until):
    mount = emufs("--machine", "local")
    file = os.open(mount.path / "a", os.O_RDWR | os.O_CREAT)
    program("unmount", "--lazy", mount.path)
    assert not is_mounted(mount.path)
    os.write(file, b"late")
    os.close(file)
    until(lambda: not mount.is_alive(), "the end of an unused emufs")
    assert (mount.backing / "a").read_bytes() == b"late"


def test_mount_is_cleaned_up_after_a_crash_and_data_is_kept(emufs, program, tmp_path):
    mount = emufs("--machine", "lustre-small")
    (mount.path / "a").write_bytes(b"x" * 100_000)
    mount.kill()
    with pytest.raises(OSError) as failed:
        (mount.path / "a").read_bytes()
    assert failed.value.errno in (errno.ENOTCONN, errno.ECONNABORTED)
    assert "a killed emufs left its mount" in expect_error(program, tmp_path, mount.path)
    program("unmount", mount.path)
    assert not is_mounted(mount.path)
    assert (mount.backing / "a").read_bytes() == b"x" * 100_000


def test_a_crash_with_several_clients_is_cleaned_up(emufs, program, machine_file):
    mount = emufs("--machine", machine_file("free"), clients=2)
    mount.kill()
    program("unmount", mount.path)
    assert list(mount.path.iterdir()) == []


def test_sigterm_unmounts(emufs, until):
    mount = emufs("--machine", "lustre-small")
    file = os.open(mount.path / "a", os.O_RDWR | os.O_CREAT)
    os.kill(mount.pid, 15)
    until(lambda: not mount.is_alive(), "the end after SIGTERM")
    assert not is_mounted(mount.path)
    for use in (lambda: os.write(file, b"x"), lambda: os.close(file)):
        with pytest.raises(OSError) as failed:
            use()
        assert failed.value.errno in (errno.ENOTCONN, errno.ECONNABORTED)


def test_unmount_without_mount_is_an_error(tmp_path, program):
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
def test_full_disk_is_reported_and_data_is_kept(emufs, small_disk, machine, program, until):
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
    # The kernel releases a removed file shortly after its program has closed it.
    until(lambda: os.statvfs(small_disk).f_bfree > 0, "room after removing a file")
    (mount.path / "b").write_bytes(b"room again")
    program("unmount", mount.path)
    assert (folder / "b").read_bytes() == b"room again"


def test_foreground_process_runs_until_the_mount_ends(tmp_path, program):
    from forebay import native

    backing, point = tmp_path / "backing", tmp_path / "point"
    backing.mkdir()
    point.mkdir()
    args = [native.find_program("forebay-emufs"), "mount", "--foreground", backing, point]
    process = subprocess.Popen(args, stdout=subprocess.PIPE, text=True)
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


def test_mount_has_the_files_of_its_backing_directory(emufs, tmp_path):
    backing = tmp_path / "full"
    (backing / "sub").mkdir(parents=True)
    (backing / "sub" / "file").write_bytes(b"before")
    os.symlink("sub/file", backing / "link")
    mount = emufs("--machine", "nfs", backing=backing)
    assert (mount.path / "link").read_bytes() == b"before"
    assert sorted(one.name for one in Path(mount.path).iterdir()) == ["link", "sub"]


def test_command_line_mounts_and_unmounts(forebay, tmp_path, can_mount, machine_file):
    backing, point = tmp_path / "backing", tmp_path / "point"
    backing.mkdir()
    point.mkdir()
    options = ("--machine", machine_file("free"), "--clients", 2)
    emufs_mount = forebay("emufs", "mount", *options, backing, point, "--json", "-")
    try:
        assert emufs_mount.json["mount_points"] == [str(point / "0"), str(point / "1")]
        (point / "0" / "a").write_bytes(b"x" * 1000)
        document = forebay("emufs", "stat", point / "1", "--json", "-").json
        assert [row["bytes_written"] for row in document["clients"]] == [1000, 0]
        assert len(document["servers"]) == 4
        table = forebay("emufs", "stat", point / "0", "--reset").out
        assert "Metadata servers" in table
        document = forebay("emufs", "stat", point / "0", "--json", "-").json
        assert document["totals"]["bytes_written"] == 0
    finally:
        completed = forebay("emufs", "unmount", point)
    assert completed.out == f"{point} is unmounted\n"
    assert list(point.iterdir()) == []
    completed = forebay("emufs", "stat", point)
    assert (completed.code, "is not a mount of emufs" in completed.err) == (1, True)
