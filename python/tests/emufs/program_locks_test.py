# SPDX-License-Identifier: Apache-2.0
"""flock and fcntl locks between programs on two clients of one storage."""

import ctypes
import errno
import fcntl
import os
import signal
import struct
import subprocess
import sys
import threading
import time

import pytest

# Takes a lock, prints a line, and holds the lock until its input ends.
HOLDER = """
import fcntl, os, sys
file = os.open(sys.argv[1], os.O_RDWR)
{take}
print("locked", flush=True)
sys.stdin.read()
"""
FLOCK = "fcntl.flock(file, fcntl.LOCK_EX)"
LOCKF = "fcntl.lockf(file, fcntl.LOCK_EX, 10, 0)"
BOTH = pytest.mark.parametrize("take", [FLOCK, LOCKF], ids=["flock", "fcntl"])

F_OFD_SETLK = 37
EXCLUSIVE = fcntl.LOCK_EX | fcntl.LOCK_NB


@pytest.fixture
def clients(emufs, machine_file):
    """Two clients, with a file `a`."""
    points = emufs("--machine", machine_file("free"), clients=2).clients
    (points[0] / "a").write_bytes(b"." * 1000)
    return points


@pytest.fixture
def holder():
    """holder(path, take) runs a program that holds a lock until the end of the test."""
    running = []

    def start(path, take) -> subprocess.Popen:
        args = [sys.executable, "-c", HOLDER.format(take=take), str(path)]
        running.append(subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert running[-1].stdout.readline() == b"locked\n"
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.wait(30)
        process.stdin.close()
        process.stdout.close()


@pytest.fixture
def open_file():
    """open_file(path) opens a file for reading and writing, until the end of the test."""
    files = []

    def open_it(path) -> int:
        files.append(os.open(path, os.O_RDWR))
        return files[-1]

    yield open_it
    for file in files:
        os.close(file)


def errno_of(function, *arguments):
    try:
        function(*arguments)
    except OSError as error:
        return error.errno
    return 0


def lock(file, take, flags):
    """Takes or releases the same lock as the holder."""
    if take == FLOCK:
        fcntl.flock(file, flags)
    else:
        fcntl.lockf(file, flags, 10, 0)


def lock_when_free(file, take):
    """Takes the lock in a thread. Returns the thread, and a list that receives the errno."""
    went = []
    thread = threading.Thread(target=lambda: went.append(errno_of(lock, file, take, fcntl.LOCK_EX)))
    thread.start()
    return thread, went


def is_waiting(thread) -> bool:
    """Whether the thread waits in the kernel for a reply of emufs."""
    try:
        with open(f"/proc/self/task/{thread.native_id}/syscall", encoding="ascii") as file:
            return file.read().split()[0] in SLEEPS
    except (OSError, IndexError):
        return False


# The system call numbers of fcntl and flock on this machine.
SLEEPS = {"x86_64": ("72", "73"), "aarch64": ("25", "32")}.get(os.uname().machine, ())


@BOTH
def test_lock_of_one_client_holds_for_another(clients, holder, open_file, take):
    process = holder(clients[0] / "a", take)
    file = open_file(clients[1] / "a")
    assert errno_of(lock, file, take, EXCLUSIVE) == errno.EWOULDBLOCK
    shared = fcntl.LOCK_SH | fcntl.LOCK_NB
    assert errno_of(lock, file, take, shared) == errno.EWOULDBLOCK
    process.stdin.close()
    process.wait(30)
    lock(file, take, fcntl.LOCK_EX)


@BOTH
def test_waiter_gets_the_lock_when_the_holder_is_killed(clients, holder, open_file, until, take):
    process = holder(clients[0] / "a", take)
    thread, went = lock_when_free(open_file(clients[1] / "a"), take)
    until(lambda: is_waiting(thread) or not SLEEPS, "a thread that waits")
    assert went == []
    process.kill()
    thread.join(30)
    assert went == [0]


@BOTH
def test_a_signal_ends_the_wait_and_leaves_no_lock(clients, holder, open_file, take):
    process = holder(clients[0] / "a", take)
    file = open_file(clients[1] / "a")

    def interrupt(_number, _frame):
        raise InterruptedError(errno.EINTR, "a signal")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
    begin = time.monotonic()
    try:
        with pytest.raises(InterruptedError):
            lock(file, take, fcntl.LOCK_EX)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - begin >= 0.2
    process.kill()
    process.wait(30)
    third = open_file(clients[0] / "a")
    thread, went = lock_when_free(third, take)
    thread.join(30)
    assert went == [0]


@BOTH
def test_a_killed_waiter_leaves_no_lock(clients, holder, open_file, until, take):
    first = holder(clients[0] / "a", take)
    code = HOLDER.format(take='print("waits", flush=True)\n' + take)
    args = [sys.executable, "-c", code, str(clients[1] / "a")]
    with subprocess.Popen(args, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as waiter:
        assert waiter.stdout.readline() == b"waits\n"
        until(lambda: sleeps_in_lock(waiter.pid), "a program that waits")
        waiter.kill()
        waiter.wait(30)
    first.kill()
    first.wait(30)
    thread, went = lock_when_free(open_file(clients[0] / "a"), take)
    thread.join(30)
    assert went == [0]


def sleeps_in_lock(pid) -> bool:
    with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
        return not SLEEPS or file.read().split()[0] in SLEEPS


@BOTH
def test_lock_serializes_clients(clients, open_file, take):
    """Each client adds to a number that is read and written under the lock."""
    path = clients[0] / "a"
    path.write_bytes(struct.pack("<q", 0))
    adder = f"""
import fcntl, os, struct, sys
file = os.open(sys.argv[1], os.O_RDWR)
for _ in range(100):
    {take}
    number, = struct.unpack("<q", os.pread(file, 8, 0))
    os.pwrite(file, struct.pack("<q", number + 1), 0)
    {take.replace("LOCK_EX", "LOCK_UN")}
"""
    paths = [str(client / "a") for client in clients for _ in range(2)]
    processes = [subprocess.Popen([sys.executable, "-c", adder, one]) for one in paths]
    codes = [process.wait(60) for process in processes]
    assert codes == [0] * 4
    assert path.read_bytes() == struct.pack("<q", 400)


@BOTH
def test_lock_shows_earlier_writes_on_a_machine_without_locks(emufs, machine_file, take):
    points = emufs("--machine", machine_file("free", locks="none"), clients=2).clients
    (points[0] / "a").write_bytes(b"old")
    files = [os.open(point / "a", os.O_RDWR) for point in points]
    for number in range(20):
        writer, reader = files[number % 2], files[1 - number % 2]
        os.pread(reader, 3, 0)
        lock(writer, take, fcntl.LOCK_EX)
        os.pwrite(writer, f"{number:03d}".encode(), 0)
        lock(writer, take, fcntl.LOCK_UN)
        lock(reader, take, fcntl.LOCK_EX)
        assert os.pread(reader, 3, 0) == f"{number:03d}".encode()
        lock(reader, take, fcntl.LOCK_UN)
    for file in files:
        os.close(file)


def test_closing_any_descriptor_ends_the_locks_of_a_process(clients, open_file):
    file, other = open_file(clients[0] / "a"), open_file(clients[1] / "a")
    fcntl.lockf(file, fcntl.LOCK_EX, 10, 0)
    assert errno_of(fcntl.lockf, other, EXCLUSIVE, 10, 0) == errno.EWOULDBLOCK
    os.close(os.open(clients[0] / "a", os.O_RDONLY))
    fcntl.lockf(other, EXCLUSIVE, 10, 0)


def test_flock_holds_until_the_last_descriptor_is_closed(clients, open_file):
    other = open_file(clients[1] / "a")
    file = os.open(clients[0] / "a", os.O_RDWR)
    fcntl.flock(file, fcntl.LOCK_EX)
    copy = os.dup(file)
    os.close(file)
    assert errno_of(fcntl.flock, other, EXCLUSIVE) == errno.EWOULDBLOCK
    os.close(copy)
    thread, went = lock_when_free(other, FLOCK)
    thread.join(30)
    assert went == [0]


def test_getlk_returns_the_holder_of_a_range(clients, holder, open_file):
    process = holder(clients[0] / "a", "fcntl.lockf(file, fcntl.LOCK_EX, 10, 20)")
    file = open_file(clients[1] / "a")
    layout = "hhqqi4x"  # struct flock: type, whence, start, length, process
    request = struct.pack(layout, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
    reply = struct.unpack(layout, fcntl.fcntl(file, fcntl.F_GETLK, request))
    assert reply == (fcntl.F_WRLCK, os.SEEK_SET, 20, 10, process.pid)
    beside = struct.pack(layout, fcntl.F_RDLCK, os.SEEK_SET, 0, 20, 0)
    assert struct.unpack(layout, fcntl.fcntl(file, fcntl.F_GETLK, beside))[0] == fcntl.F_UNLCK


def test_open_file_description_lock_ends_with_the_description(clients, open_file):
    """A file system in user space gets no request when such a lock ends."""
    other = open_file(clients[1] / "a")
    file = os.open(clients[0] / "a", os.O_RDWR)
    request = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    fcntl.fcntl(file, F_OFD_SETLK, request)
    assert errno_of(fcntl.lockf, other, EXCLUSIVE, 10, 0) == errno.EWOULDBLOCK
    os.close(file)
    thread, went = lock_when_free(other, LOCKF)
    thread.join(30)
    assert went == [0]


def test_forced_unmount_of_a_client_releases_its_locks(clients, open_file):
    file = os.open(clients[0] / "a", os.O_RDWR)
    fcntl.flock(file, fcntl.LOCK_EX)
    thread, went = lock_when_free(open_file(clients[1] / "a"), FLOCK)
    libc = ctypes.CDLL(None, use_errno=True)
    force_and_detach = 1 | 2
    assert libc.umount2(os.fsencode(clients[0]), force_and_detach) == 0
    thread.join(30)
    assert went == [0]
    assert errno_of(os.close, file) in (errno.ENOTCONN, errno.ECONNABORTED)
