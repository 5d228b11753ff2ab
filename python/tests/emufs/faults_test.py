# SPDX-License-Identifier: Apache-2.0
"""Injected faults: their effects on programs, and `clear`."""

import errno
import os
import signal
import subprocess
import sys
import time

import pytest

REQUEST = 65536
NOBODY_UID = 65534
EIO_FAULTS_MAX = 256


def errno_of(function, *arguments):
    try:
        function(*arguments)
    except OSError as error:
        return error.errno
    return 0


@pytest.fixture(params=["true", "false"], ids=["cached", "uncached"])
def mount(request, emufs, machine_file):
    mount = emufs("--machine", machine_file("free", page_cache=request.param))
    mount.path.chmod(0o777)
    return mount


def open_file(mount, size=0):
    file = os.open(mount.path / "a", os.O_RDWR | os.O_CREAT)
    os.pwrite(file, b"." * size, 0)
    return file


def test_eio_from_reading_bytes_of_a_file(mount):
    file = open_file(mount, 16 * REQUEST)
    mount.command(kind="eio", path="a", offset=8 * REQUEST, size=4096, on="read")
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)
    assert os.pread(file, 4096, 8 * REQUEST - 4096) == b"." * 4096
    assert errno_of(os.pread, file, 4096, 8 * REQUEST) == errno.EIO
    assert os.pwrite(file, b"x", 8 * REQUEST) == 1
    mount.command(kind="clear")
    assert os.pread(file, 2, 8 * REQUEST) == b"x."
    os.close(file)


def test_eio_from_writing(mount):
    file = open_file(mount, REQUEST)
    mount.command(kind="eio", path="a", offset=100, size=1, on="write")
    assert os.pwrite(file, b"x" * 100, 0) == 100
    assert errno_of(os.pwrite, file, b"x" * 101, 0) == errno.EIO
    mount.command(kind="clear")
    assert os.pwrite(file, b"x" * 101, 0) == 101
    os.close(file)


def test_eio_from_syncs_alone(mount):
    file = open_file(mount, REQUEST)
    folder = os.open(mount.path, os.O_RDONLY | os.O_DIRECTORY)
    mount.command(kind="eio", path="a", on="sync")
    assert os.pwrite(file, b"x", 0) == 1
    assert errno_of(os.fsync, file) == errno.EIO
    assert errno_of(os.fdatasync, file) == errno.EIO
    os.fsync(folder)
    mount.command(kind="clear")
    mount.command(kind="eio", path=".", on="sync")
    assert errno_of(os.fsync, folder) == errno.EIO
    os.fsync(file)
    mount.command(kind="clear")
    os.fsync(folder)
    os.close(folder)
    os.close(file)


def test_enospc_after_the_given_bytes(mount):
    file = os.open(mount.path / "a", os.O_WRONLY | os.O_CREAT)
    mount.command(kind="enospc", after=10_000)
    assert os.write(file, b"x" * 6_000) == 6_000
    assert os.write(file, b"x" * 6_000) == 4_000
    assert errno_of(os.write, file, b"x") == errno.ENOSPC
    assert os.fstat(file).st_size == 10_000
    mount.command(kind="clear")
    assert os.write(file, b"x") == 1
    os.close(file)


def test_edquot_for_one_user(mount):
    mount.command(kind="edquot", uid=NOBODY_UID, limit=5_000)
    code = f"""
import errno, os
os.setgid({NOBODY_UID}); os.setuid({NOBODY_UID})
file = os.open("theirs", os.O_WRONLY | os.O_CREAT)
assert os.write(file, b"x" * 6000) == 5000
try:
    os.write(file, b"x")
except OSError as error:
    os._exit(7 if error.errno == errno.EDQUOT else 1)
"""
    command = ["/usr/bin/python3", "-S", "-c", code]
    assert subprocess.run(command, cwd=mount.path, timeout=30).returncode == 7
    (mount.path / "mine").write_bytes(b"x" * 6_000)


@pytest.mark.parametrize(
    "command",
    [
        {"kind": "eio"},
        {"kind": "eio", "path": "/a"},
        {"kind": "eio", "path": "a", "offset": -1},
        {"kind": "eio", "path": "a", "on": "sundays"},
        {"kind": "enospc"},
        {"kind": "edquot", "uid": 1},
        {"kind": "server", "number": 4, "state": "stall"},
        {"kind": "server", "number": 0, "state": "sleep"},
        {"kind": "server", "number": 0, "slowness": 0},
        {"kind": "server", "number": 0, "slowness": "much"},
        {"kind": "flood"},
        {},
    ],
    ids=str,
)
def test_invalid_commands_are_refused(emufs, machine_file, command):
    mount = emufs("--machine", machine_file("free"))
    (mount.path / "a").write_bytes(b"")
    with pytest.raises(OSError) as failed:
        mount.command(**command)
    assert failed.value.errno == errno.EINVAL


def test_missing_path_is_refused(emufs, machine_file):
    mount = emufs("--machine", machine_file("free"))
    with pytest.raises(OSError) as failed:
        mount.command(kind="eio", path="nowhere")
    assert failed.value.errno == errno.ENOENT


@pytest.mark.parametrize("path", ["../secret", "sub/../../secret", "out", "absolute", "out/x"])
@pytest.mark.parametrize("exists", [True, False])
def test_path_of_a_fault_does_not_lead_out_of_the_mount(
    emufs, machine_file, tmp_path, path, exists
):
    mount = emufs("--machine", machine_file("free"))
    if exists:
        (tmp_path / "secret").write_bytes(b"")
    (mount.path / "sub").mkdir()
    (mount.path / "out").symlink_to("../secret")
    (mount.path / "absolute").symlink_to(tmp_path / "secret")
    assert errno_of(lambda: mount.command(kind="eio", path=path)) == errno.EXDEV


def test_path_of_a_fault_follows_links_inside_the_mount(emufs, machine_file):
    mount = emufs("--machine", machine_file("free"))
    (mount.path / "sub").mkdir()
    (mount.path / "a").write_bytes(b"x")
    (mount.path / "sub" / "link").symlink_to("../a")
    mount.command(kind="eio", path="sub/link", on="write")
    file = os.open(mount.path / "a", os.O_WRONLY)
    assert errno_of(os.write, file, b"x") == errno.EIO
    os.close(file)


def test_path_of_a_fault_is_resolved_with_permissions_of_the_caller(mount):
    (mount.path / "private").mkdir(mode=0o700)
    (mount.path / "private" / "a").write_bytes(b"")
    code = f"""
import errno, json, os
os.setgroups([]); os.setgid({NOBODY_UID}); os.setuid({NOBODY_UID})
for name in ("a", "nowhere"):
    try:
        fault = json.dumps({{"kind": "eio", "path": "private/" + name}})
        os.setxattr(".", "user.emufs.fault", fault.encode())
        os._exit(1)
    except OSError as error:
        if error.errno != errno.EACCES:
            os._exit(2)
os._exit(7)
"""
    command = ["/usr/bin/python3", "-S", "-c", code]
    assert subprocess.run(command, cwd=mount.path, timeout=30).returncode == 7


def test_faults_beyond_the_maximum_are_refused_until_clear(mount, forebay):
    (mount.path / "a").write_bytes(b"x")
    descriptors = len(os.listdir(f"/proc/{mount.pid}/fd"))
    for offset in range(EIO_FAULTS_MAX):
        mount.command(kind="eio", path="a", offset=offset, size=1)
    assert errno_of(lambda: mount.command(kind="eio", path="a")) == errno.EMFILE
    assert len(os.listdir(f"/proc/{mount.pid}/fd")) <= descriptors + EIO_FAULTS_MAX
    completed = forebay("emufs", "fault", "eio", mount.path, "a")
    assert completed.code == 1
    assert "emufs fault clear" in completed.err
    mount.command(kind="clear")
    mount.command(kind="eio", path="a")


READ_ONE_BYTE = """
import os, signal, sys
signal.signal(signal.SIGUSR1, lambda *_: None)
file = os.open(sys.argv[1], os.O_RDONLY)
print("opened", flush=True)
try:
    os.pread(file, 1, 0)
except InterruptedError:
    sys.exit(7)
"""


@pytest.fixture
def reader(emufs, machine_file):
    """A mount, and a function that starts a program which reads a byte of server 0. The program
    ends with the test."""
    mount = emufs("--machine", machine_file("free", page_cache="false"))
    (mount.path / "a").write_bytes(b"x" * REQUEST)
    processes = []

    def start():
        command = [sys.executable, "-S", "-c", READ_ONE_BYTE, mount.path / "a"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        processes.append(process)
        assert process.stdout.readline() == "opened\n"
        return process

    yield mount, start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


def is_waiting(mount):
    return mount.stat()["totals"]["under_way"] > 0


def test_stalled_server_replies_when_it_works_again(reader, until):
    mount, start = reader
    mount.command(kind="server", number=0, state="stall")
    process = start()
    until(lambda: is_waiting(mount), "a request that waits")
    assert process.poll() is None
    mount.command(kind="server", number=0, state="works")
    assert process.wait(30) == 0


def test_clear_restarts_a_stalled_server(reader, until):
    mount, start = reader
    mount.command(kind="server", number=0, state="stall")
    process = start()
    until(lambda: is_waiting(mount), "a request that waits")
    mount.command(kind="clear")
    assert process.wait(30) == 0


def test_process_waiting_for_a_dropping_server_can_be_killed(reader, until):
    mount, start = reader
    mount.command(kind="server", number=0, state="drop")
    process = start()
    until(lambda: is_waiting(mount), "a request that waits")
    process.send_signal(signal.SIGKILL)
    assert process.wait(30) == -signal.SIGKILL
    mount.command(kind="clear")
    assert start().wait(30) == 0


def test_process_waiting_for_a_stalled_server_can_be_killed(reader, until):
    mount, start = reader
    mount.command(kind="server", number=0, state="stall")
    process = start()
    until(lambda: is_waiting(mount), "a request that waits")
    process.send_signal(signal.SIGUSR1)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1.5)
    process.send_signal(signal.SIGKILL)
    assert process.wait(30) == -signal.SIGKILL


def test_a_slow_server_is_slow(emufs, machine_file):
    mount = emufs("--machine", machine_file("slow", page_cache="false", locks="none"))
    (mount.path / "a").write_bytes(b"x" * REQUEST)
    file = os.open(mount.path / "a", os.O_RDONLY)
    mount.command(kind="server", number=0, state="works", slowness=5.0)
    begin = time.monotonic()
    os.pread(file, 1, 0)
    assert time.monotonic() - begin > 0.09
    os.close(file)


def test_signal_does_not_interrupt_a_slow_request(emufs, machine_file):
    mount = emufs("--machine", machine_file("slow", page_cache="false", locks="none"))
    (mount.path / "a").write_bytes(b"x" * REQUEST)
    command = [sys.executable, "-S", "-c", READ_ONE_BYTE, mount.path / "a"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "opened\n"
    for _ in range(5):
        process.send_signal(signal.SIGUSR1)
    assert process.wait(30) == 0
    process.stdout.close()


def test_command_line_sets_and_lists_faults(emufs, machine_file, forebay):
    mount = emufs("--machine", machine_file("free"))
    (mount.path / "a").write_bytes(b"x" * REQUEST)
    fault = ("emufs", "fault")
    json_out = ("--json", "-")
    args = ("eio", mount.path, mount.path / "a", "--offset", "4KiB", "--on", "read", *json_out)
    assert forebay(*fault, *args).json["eio"] == [
        {"path": "a", "offset": 4096, "size": 2**64 - 1, "on": "read"}
    ]
    completed = forebay(*fault, "enospc", mount.path, "--after", "1MiB", *json_out)
    assert completed.json["enospc_after"] == 1 << 20
    completed = forebay(*fault, "edquot", mount.path, "--uid", 7, "--limit", "1MiB", *json_out)
    assert completed.json["edquot"] == [{"uid": 7, "limit": 1 << 20}]
    completed = forebay(*fault, "server", mount.path, 2, "--slow", 3, *json_out)
    assert completed.json["servers"] == [
        {"number": 2, "metadata": False, "state": "works", "slowness": 3.0}
    ]
    table = forebay(*fault, "list", mount.path).out
    for text in ("EIO", "ENOSPC", "EDQUOT", "server 2"):
        assert text in table
    assert "No faults" in forebay(*fault, "clear", mount.path).out
    completed = forebay(*fault, "eio", mount.path, "nowhere")
    assert completed.code == 1
    assert "use a path from the mount point" in completed.err
