# SPDX-License-Identifier: Apache-2.0
"""A killed emufs, a mount in use, existing mount points, full disks. Programs on the mount get an
error and do not hang, errors name the remedy, and written data is in the backing directory."""

import errno
import mmap
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

KIB = 1 << 10
MIB = 1 << 20
REQUEST = 64 * KIB
GONE = (errno.ENOTCONN, errno.ECONNABORTED)
MACHINES = ("local", "lustre-small")

# Writes one piece after another, and prints the number of accepted pieces after each.
WRITER = """
import os, sys
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
try:
    for i in range(10**9):
        os.write(file, i.to_bytes(8, "little") * 512)
        print(i + 1, flush=True)
except OSError as error:
    print("errno", error.errno, flush=True)
"""

READER = """
import os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
print("opened", flush=True)
try:
    os.pread(file, 1, 0)
except OSError as error:
    sys.exit(error.errno)
"""


def errno_of(function, *arguments):
    try:
        function(*arguments)
    except OSError as error:
        return error.errno
    return 0


def is_mounted(path) -> bool:
    lines = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    return any(line.split()[1] == str(path) for line in lines)


@pytest.fixture
def start():
    """start(code, path) runs a small program, which ends with the test."""
    processes = []

    def run(code, path):
        command = [sys.executable, "-S", "-c", code, path]
        processes.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
        return processes[-1]

    yield run
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


class TestKilled:
    """emufs has ended, its mount has not."""

    @pytest.mark.parametrize("machine", MACHINES)
    def test_every_accepted_write_is_kept(self, emufs, start, machine):
        mount = emufs("--machine", machine)
        writer = start(WRITER, mount.path / "a")
        for _ in range(20):
            taken = int(writer.stdout.readline())
        mount.kill()
        for line in writer.stdout:
            args = line.split()
            if args[0] == "errno":
                assert int(args[1]) in GONE
                break
            taken = int(args[0])
        assert writer.wait(30) == 0
        kept = (mount.backing / "a").read_bytes()
        pieces = b"".join(i.to_bytes(8, "little") * 512 for i in range(taken))
        assert kept[: len(pieces)] == pieces

    def test_waiting_request_gets_an_error(self, emufs, start, machine_file, until):
        mount = emufs("--machine", machine_file("free", page_cache="false"))
        (mount.path / "a").write_bytes(b"x" * REQUEST)
        mount.command(kind="server", number=0, state="stall")
        reader = start(READER, mount.path / "a")
        assert reader.stdout.readline() == "opened\n"
        until(lambda: mount.stat()["totals"]["under_way"] > 0, "a request that waits")
        mount.kill()
        assert reader.wait(30) in GONE

    def test_open_files_do_not_keep_the_mount(self, emufs, program):
        mount = emufs("--machine", "local")
        file = os.open(mount.path / "a", os.O_WRONLY | os.O_CREAT)
        os.write(file, b"kept")
        os.stat(mount.path)  # the kernel caches the attributes of the root for a while
        mount.kill()
        program("unmount", mount.path)
        assert not is_mounted(mount.path)
        assert errno_of(os.write, file, b"lost") in GONE
        assert errno_of(os.close, file) in GONE
        assert (mount.backing / "a").read_bytes() == b"kept"

    def test_mounting_there_is_an_error_that_names_the_remedy(self, emufs, program, tmp_path):
        mount = emufs("--machine", "local")
        os.stat(mount.path)
        mount.kill()
        message = program("mount", tmp_path, mount.path, code=1)["message"]
        assert "a killed emufs left its mount" in message
        assert f"forebay emufs unmount {mount.path}" in message

    def test_commands_name_the_remedy(self, emufs, forebay):
        mount = emufs("--machine", "local")
        mount.kill()
        for command in (("stat",), ("fault", "list"), ("layout",)):
            completed = forebay("emufs", *command, mount.path)
            assert completed.code == 1
            assert f"was killed; `forebay emufs unmount {mount.path}` cleans up" in completed.err
        assert forebay("emufs", "unmount", mount.path).code == 0

    def test_a_new_mount_has_the_files_and_their_layouts(self, emufs, program, machine_file):
        mount = emufs("--machine", machine_file("free"))
        (mount.path / "a").touch()
        os.setxattr(mount.path / "a", "user.emufs.stripe_count", b"2")
        (mount.path / "a").write_bytes(b"x" * MIB)
        mount.kill()
        program("unmount", mount.path)
        again = emufs("--machine", machine_file("free"), backing=mount.backing)
        assert (again.path / "a").read_bytes() == b"x" * MIB
        assert os.getxattr(again.path / "a", "user.emufs.stripe_count") == b"2"


class TestInUse:
    """A refused unmount changes nothing."""

    @pytest.mark.parametrize("clients", [1, 2])
    def test_open_file_remains_usable(self, emufs, program, machine_file, clients):
        mount = emufs("--machine", machine_file("free"), clients=clients)
        last = mount.clients[-1]
        with open(last / "a", "wb", buffering=0) as file:
            file.write(b"before ")
            error = program("unmount", mount.path, code=1)
            assert error["errno"] == errno.EBUSY
            assert f"{os.getpid()} (" in error["message"]
            assert is_mounted(last)
            file.write(b"after")
        assert (last / "a").read_bytes() == b"before after"
        program("unmount", mount.path)
        assert (mount.backing / "a").read_bytes() == b"before after"

    def test_open_file_can_be_written_after_lazy_unmount(self, emufs, program, until):
        mount = emufs("--machine", "lustre-small")
        with open(mount.path / "a", "wb", buffering=0) as file:
            program("unmount", "--lazy", mount.path)
            for i in range(8):
                file.write(bytes([i]) * REQUEST)
            os.fsync(file.fileno())
        until(lambda: not mount.is_alive(), "the end of an unused emufs")
        kept = (mount.backing / "a").read_bytes()
        assert kept == b"".join(bytes([i]) * REQUEST for i in range(8))

    def test_sigterm_while_in_use_keeps_accepted_writes(self, emufs, start, until):
        mount = emufs("--machine", "local")
        writer = start(WRITER, mount.path / "a")
        for _ in range(20):
            taken = int(writer.stdout.readline())
        os.kill(mount.pid, signal.SIGTERM)
        until(lambda: not mount.is_alive(), "the end after SIGTERM")
        for line in writer.stdout:
            if line.startswith("errno"):
                break
            taken = int(line)
        assert writer.wait(30) == 0
        assert not is_mounted(mount.path)
        kept = (mount.backing / "a").read_bytes()
        assert kept[: taken * 4096] == b"".join(i.to_bytes(8, "little") * 512 for i in range(taken))


class TestMountPoints:
    """A refused mount changes neither the mount point nor the backing directory."""

    def test_existing_files_are_kept(self, program, tmp_path):
        backing, point = tmp_path / "backing", tmp_path / "point"
        for folder in (backing, point):
            folder.mkdir()
            (folder / "mine").write_bytes(b"mine")
        error = program("mount", backing, point, code=1)
        assert "it is not empty; name an empty directory" in error["message"]
        for folder in (backing, point):
            assert [one.name for one in folder.iterdir()] == ["mine"]
            assert (folder / "mine").read_bytes() == b"mine"

    def test_existing_mount_is_unchanged(self, emufs, program, tmp_path):
        mount = emufs("--machine", "local")
        (mount.path / "a").write_bytes(b"first")
        other = tmp_path / "other"
        other.mkdir()
        message = program("mount", other, mount.path, code=1)["message"]
        assert "it is a mount already (fuse.forebay-emufs)" in message
        assert (mount.path / "a").read_bytes() == b"first"
        assert list(other.iterdir()) == []

    def test_mount_of_another_file_system_is_refused(self, program, small_disk, tmp_path):
        backing = tmp_path / "backing"
        backing.mkdir()
        message = program("mount", backing, small_disk, code=1)["message"]
        assert "it is a mount already (tmpfs)" in message
        assert "no emufs is mounted there" in program("unmount", small_disk, code=1)["message"]
        assert is_mounted(small_disk)

    def test_existing_client_directory_is_refused(self, program, machine_file, tmp_path):
        backing, point = tmp_path / "backing", tmp_path / "point"
        backing.mkdir()
        (point / "1").mkdir(parents=True)
        (point / "1" / "mine").write_bytes(b"mine")
        args = ("mount", "--machine", machine_file("free"), "--clients", 2, backing, point)
        assert "it is not empty" in program(*args, code=1)["message"]
        assert (point / "1" / "mine").read_bytes() == b"mine"
        assert not (point / "0").exists()


@pytest.fixture
def small_disk(tmp_path, can_mount):
    """A file system of 4 MiB, unmounted at the end."""
    path = tmp_path / "disk"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4M", "emufs-test", path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    if done.returncode != 0:
        pytest.skip(f"no tmpfs can be mounted: {done.stderr.strip()}")
    yield path
    subprocess.run(["umount", "-l", path], check=True, timeout=30)


def fill(path) -> None:
    """Writes to a file until it accepts no further byte."""
    with open(path, "wb", buffering=0) as file:
        for size in (REQUEST, 4 * KIB, 1):
            while errno_of(file.write, b"." * size) == 0:
                pass


class TestFullDisk:
    """The disk of the backing directory is full."""

    @pytest.mark.parametrize("machine", MACHINES)
    def test_accepted_bytes_are_kept(self, emufs, small_disk, program, machine):
        mount = emufs("--machine", machine, backing=small_disk / "backing")
        (mount.path / "earlier").write_bytes(b"earlier" * 1000)
        data = os.urandom(8 * MIB)
        written = 0
        with open(mount.path / "a", "wb", buffering=0) as file:
            with pytest.raises(OSError) as failed:
                while written < len(data):
                    written += file.write(data[written : written + 100_000])
            assert failed.value.errno == errno.ENOSPC
            os.fsync(file.fileno())
        assert 3 * MIB < written < 4 * MIB
        assert (mount.path / "a").read_bytes() == data[:written]
        program("unmount", mount.path)
        assert (mount.backing / "a").read_bytes() == data[:written]
        assert (mount.backing / "earlier").read_bytes() == b"earlier" * 1000

    def test_existing_bytes_can_be_overwritten(self, emufs, small_disk):
        mount = emufs("--machine", "local", backing=small_disk / "backing")
        (mount.path / "a").write_bytes(b"a" * REQUEST)
        fill(mount.path / "full")
        with open(mount.path / "a", "r+b", buffering=0) as file:
            assert file.write(b"b" * REQUEST) == REQUEST
        assert (mount.backing / "a").read_bytes() == b"b" * REQUEST

    def test_full_disk_can_be_mounted_and_read(self, emufs, small_disk):
        backing = small_disk / "backing"
        backing.mkdir()
        (backing / "a").write_bytes(b"kept")
        fill(backing / "full")
        mount = emufs("--machine", "local", backing=backing)
        assert (mount.path / "a").read_bytes() == b"kept"
        with open(mount.path / "a", "ab", buffering=0) as file:
            assert errno_of(file.write, b"x" * REQUEST) in (0, errno.ENOSPC)
            assert errno_of(file.write, b"x" * REQUEST) == errno.ENOSPC

    def test_mount_without_room_to_measure_reports_that(self, emufs, small_disk, forebay):
        backing, point = small_disk / "backing", small_disk.parent / "point"
        backing.mkdir()
        point.mkdir()
        (backing / "a").write_bytes(b"kept")
        fill(backing / "full")
        emufs_mount = forebay("emufs", "mount", "--machine", "lustre-small", backing, point)
        try:
            assert emufs_mount.code == 0, emufs_mount.err
            assert "(ENOSPC)" in "".join(emufs_mount.out.split())
            assert (point / "a").read_bytes() == b"kept"
        finally:
            assert forebay("emufs", "unmount", point).code == 0
        assert sorted(one.name for one in backing.iterdir()) == ["a", "full"]

    def test_mapping_without_room_is_an_error_of_msync(self, emufs, small_disk):
        mount = emufs("--machine", "local", backing=small_disk / "backing")
        with open(mount.path / "a", "w+b", buffering=0) as file:
            file.truncate(REQUEST)
            with mmap.mmap(file.fileno(), REQUEST) as mapped:
                fill(mount.path / "full")
                mapped[:] = b"m" * REQUEST
                with pytest.raises(OSError):
                    mapped.flush()
                    os.fsync(file.fileno())
                (mount.path / "full").unlink()

    def test_names_without_room_are_errors(self, emufs, tmp_path, can_mount):
        disk = tmp_path / "disk"
        disk.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", "nr_inodes=16", "emufs-test", disk]
        if subprocess.run(command, capture_output=True, timeout=30).returncode != 0:
            pytest.skip("no tmpfs can be mounted")
        try:
            mount = emufs("--machine", "local", backing=disk / "backing")
            made = [f"f{i}" for i in range(20) if not errno_of((mount.path / f"f{i}").touch)]
            assert 0 < len(made) < 16
            assert errno_of((mount.path / "folder").mkdir) == errno.ENOSPC
            assert errno_of((mount.path / "link").symlink_to, "f0") == errno.ENOSPC
            assert sorted(one.name for one in mount.backing.iterdir()) == sorted(made)
        finally:
            subprocess.run(["umount", "-l", disk], check=True, timeout=30)

    def test_recording_without_room_stops_and_writes_continue(
        self, emufs, small_disk, program, forebay
    ):
        mount = emufs("--machine", "local", "--record", small_disk / "record")
        data = os.urandom(8 * MIB)
        (mount.path / "a").write_bytes(data)
        assert mount.stat()["record"]["broken"] == errno.ENOSPC
        printed = " ".join(forebay("emufs", "stat", mount.path).out.split())  # lines are folded
        assert f"stopped (errno {errno.ENOSPC})" in printed
        program("unmount", mount.path)
        assert (mount.backing / "a").read_bytes() == data
        assert program("record-info", small_disk / "record")["bytes_written"] < len(data)
