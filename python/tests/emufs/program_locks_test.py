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

# Takes a lock, says so, and keeps it until its input ends.
HOLDER = """
import fcntl, os, sys
file = os.open(sys.argv[1], os.O_RDWR)
{take}
print("has it", flush=True)
sys.stdin.read()
"""
FLOCK = "fcntl.flock(file, fcntl.LOCK_EX)"
LOCKF = "fcntl.lockf(file, fcntl.LOCK_EX, 10, 0)"
BOTH = pytest.mark.parametrize("take", [FLOCK, LOCKF], ids=["flock", "fcntl"])

F_OFD_SETLK = 37
EXCLUSIVE = fcntl.LOCK_EX | fcntl.LOCK_NB


@pytest.fixture
def clients(emufs, machine_file):
    """Two clients, and a file `a` that both have."""
    points = emufs("--machine", machine_file("free"), clients=2).clients
    (points[0] / "a").write_bytes(b"." * 1000)
    return points


@pytest.fixture
def holder():
    """holder(path, take) runs a program that has a lock, until the end of the test."""
    running = []

    def start(path, take) -> subprocess.Popen:
        words = [sys.executable, "-c", HOLDER.format(take=take), str(path)]
        running.append(subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        assert running[-1].stdout.readline() == b"has it\n"
        return running[-1]

    yield start
    for process in running:
        process.kill()
        process.wait(30)
        process.stdin.close()
        process.stdout.close()


@pytest.fixture
def opened():
    """opened(path) opens for reading and writing, until the end of the test."""
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
    """The same lock as the holder's."""
    if take == FLOCK:
        fcntl.flock(file, flags)
    else:
        fcntl.lockf(file, flags, 10, 0)


def lock_when_free(file, take):
    """In a thread: gives it, and a list that gets how it went."""
    went = []
    thread = threading.Thread(target=lambda: went.append(errno_of(lock, file, take, fcntl.LOCK_EX)))
    thread.start()
    return thread, went


def is_waiting(thread) -> bool:
    """Whether the kernel has the thread wait for an answer of ours."""
    try:
        with open(f"/proc/self/task/{thread.native_id}/syscall", encoding="ascii") as file:
            return file.read().split()[0] in SLEEPS
    except (OSError, IndexError):
        return False


# The numbers of fcntl and flock in this machine's system calls.
SLEEPS = {"x86_64": ("72", "73"), "aarch64": ("25", "32")}.get(os.uname().machine, ())


@BOTH
def test_what_one_client_locks_another_finds_locked(clients, holder, opened, take):
    process = holder(clients[0] / "a", take)
    file = opened(clients[1] / "a")
    assert errno_of(lock, file, take, EXCLUSIVE) == errno.EWOULDBLOCK
    shared = fcntl.LOCK_SH | fcntl.LOCK_NB
    assert errno_of(lock, file, take, shared) == errno.EWOULDBLOCK
    process.stdin.close()
    process.wait(30)
    lock(file, take, fcntl.LOCK_EX)


@BOTH
def test_one_who_waits_is_let_in_when_the_holder_is_killed(clients, holder, opened, until, take):
    process = holder(clients[0] / "a", take)
    thread, went = lock_when_free(opened(clients[1] / "a"), take)
    until(lambda: is_waiting(thread) or not SLEEPS, "a thread that waits")
    assert went == []
    process.kill()
    thread.join(30)
    assert went == [0]


@BOTH
def test_a_signal_ends_the_wait_and_leaves_no_lock(clients, holder, opened, take):
    process = holder(clients[0] / "a", take)
    file = opened(clients[1] / "a")

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
    third = opened(clients[0] / "a")
    thread, went = lock_when_free(third, take)
    thread.join(30)
    assert went == [0]


@BOTH
def test_a_killed_waiter_leaves_no_lock(clients, holder, opened, until, take):
    first = holder(clients[0] / "a", take)
    code = HOLDER.format(take='print("asks", flush=True)\n' + take)
    words = [sys.executable, "-c", code, str(clients[1] / "a")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as waiter:
        assert waiter.stdout.readline() == b"asks\n"
        until(lambda: sleeps_in_lock(waiter.pid), "a program that waits")
        waiter.kill()
        waiter.wait(30)
    first.kill()
    first.wait(30)
    thread, went = lock_when_free(opened(clients[0] / "a"), take)
    thread.join(30)
    assert went == [0]


def sleeps_in_lock(pid) -> bool:
    with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
        return not SLEEPS or file.read().split()[0] in SLEEPS


@BOTH
def test_clients_take_turns(clients, opened, take):
    """Each adds to a number that is read and written under the lock."""
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
def test_without_locks_of_the_machine_who_has_the_lock_sees_what_was_written(
    emufs, machine_file, take
):
    points = emufs("--machine", machine_file("free", locks="none"), clients=2).clients
    (points[0] / "a").write_bytes(b"old")
    files = [os.open(point / "a", os.O_RDWR) for point in points]
    for turn in range(20):
        writer, reader = files[turn % 2], files[1 - turn % 2]
        os.pread(reader, 3, 0)
        lock(writer, take, fcntl.LOCK_EX)
        os.pwrite(writer, f"{turn:03d}".encode(), 0)
        lock(writer, take, fcntl.LOCK_UN)
        lock(reader, take, fcntl.LOCK_EX)
        assert os.pread(reader, 3, 0) == f"{turn:03d}".encode()
        lock(reader, take, fcntl.LOCK_UN)
    for file in files:
        os.close(file)


def test_closing_any_descriptor_ends_the_locks_of_a_process(clients, opened):
    file, other = opened(clients[0] / "a"), opened(clients[1] / "a")
    fcntl.lockf(file, fcntl.LOCK_EX, 10, 0)
    assert errno_of(fcntl.lockf, other, EXCLUSIVE, 10, 0) == errno.EWOULDBLOCK
    os.close(os.open(clients[0] / "a", os.O_RDONLY))
    fcntl.lockf(other, EXCLUSIVE, 10, 0)


def test_flock_lives_as_long_as_any_descriptor_of_the_opened_file(clients, opened):
    other = opened(clients[1] / "a")
    file = os.open(clients[0] / "a", os.O_RDWR)
    fcntl.flock(file, fcntl.LOCK_EX)
    copy = os.dup(file)
    os.close(file)
    assert errno_of(fcntl.flock, other, EXCLUSIVE) == errno.EWOULDBLOCK
    os.close(copy)
    thread, went = lock_when_free(other, FLOCK)
    thread.join(30)
    assert went == [0]


def test_who_holds_a_range_is_told(clients, holder, opened):
    process = holder(clients[0] / "a", "fcntl.lockf(file, fcntl.LOCK_EX, 10, 20)")
    file = opened(clients[1] / "a")
    layout = "hhqqi4x"  # struct flock: type, whence, start, length, process
    wish = struct.pack(layout, fcntl.F_RDLCK, os.SEEK_SET, 0, 0, 0)
    answer = struct.unpack(layout, fcntl.fcntl(file, fcntl.F_GETLK, wish))
    assert answer == (fcntl.F_WRLCK, os.SEEK_SET, 20, 10, process.pid)
    beside = struct.pack(layout, fcntl.F_RDLCK, os.SEEK_SET, 0, 20, 0)
    assert struct.unpack(layout, fcntl.fcntl(file, fcntl.F_GETLK, beside))[0] == fcntl.F_UNLCK


def test_locks_of_an_opened_file_end_with_it(clients, opened):
    """Open file description locks, of which a file system in user space hears no end."""
    other = opened(clients[1] / "a")
    file = os.open(clients[0] / "a", os.O_RDWR)
    wish = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    fcntl.fcntl(file, F_OFD_SETLK, wish)
    assert errno_of(fcntl.lockf, other, EXCLUSIVE, 10, 0) == errno.EWOULDBLOCK
    os.close(file)
    thread, went = lock_when_free(other, LOCKF)
    thread.join(30)
    assert went == [0]


def test_a_client_that_is_forced_off_lets_its_locks_go(clients, opened):
    file = os.open(clients[0] / "a", os.O_RDWR)
    fcntl.flock(file, fcntl.LOCK_EX)
    thread, went = lock_when_free(opened(clients[1] / "a"), FLOCK)
    libc = ctypes.CDLL(None, use_errno=True)
    force_and_detach = 1 | 2
    assert libc.umount2(os.fsencode(clients[0]), force_and_detach) == 0
    thread.join(30)
    assert went == [0]
    assert errno_of(os.close, file) in (errno.ENOTCONN, errno.ECONNABORTED)
