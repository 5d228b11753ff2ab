# SPDX-License-Identifier: Apache-2.0
"""Coherence between clients apart from plain writes, and operations that wait meanwhile."""

import contextlib
import ctypes
import ctypes.util
import mmap
import os
import signal
import subprocess
import sys
import time

import pytest

PAGE = 4096
ROUNDS = 100
FALLOC_KEEP_SIZE = 1
FALLOC_PUNCH_HOLE = 2

libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)


@pytest.fixture
def open_file():
    """open_file(path, flags) opens a file, which is closed at the end."""
    files = []

    def open_it(path, flags=os.O_RDONLY) -> int:
        files.append(os.open(path, flags | os.O_CREAT, 0o644))
        return files[-1]

    yield open_it
    for file in files:
        os.close(file)


@pytest.mark.parametrize("mode", [os.O_WRONLY, os.O_RDWR])
@pytest.mark.parametrize(
    "how", [("stripe", "true"), ("stripe", "false"), ("object", "true"), ("none", "true")]
)
def test_alternating_appends_of_clients_are_all_kept(emufs, machine_file, open_file, mode, how):
    locks, cached = how
    mount = emufs("--machine", machine_file("free", locks=locks, page_cache=cached), clients=2)
    logs = [open_file(client / "log", mode | os.O_APPEND) for client in mount.clients]
    expected = b""
    for i in range(40):
        for number, log in enumerate(logs):
            line = f"{number}:{i}\n".encode() * (1 + 90 * number)
            assert os.write(log, line) == len(line)
            expected += line
    assert (mount.backing / "log").read_bytes() == expected
    for client in mount.clients:
        assert (client / "log").read_bytes() == expected


def truncate(_file, path):
    os.truncate(path, 0)


def truncate_opened(file, _path):
    os.ftruncate(file, 0)


def open_with_truncation(_file, path):
    os.close(os.open(path, os.O_WRONLY | os.O_TRUNC))


def punch_hole(file, _path):
    mode = FALLOC_KEEP_SIZE | FALLOC_PUNCH_HOLE
    assert libc.fallocate(file, mode, 0, PAGE) == 0, os.strerror(ctypes.get_errno())


@pytest.mark.parametrize("change", [truncate, truncate_opened, open_with_truncation, punch_hole])
@pytest.mark.parametrize("machine", ["free", "slow"])
def test_other_clients_see_truncation_when_it_returns(
    emufs, machine_file, open_file, machine, change
):
    mount = emufs("--machine", machine_file(machine, concurrency=16), clients=2)
    writer = open_file(mount.clients[0] / "a", os.O_RDWR)
    reader = open_file(mount.clients[1] / "a")
    stale = 0
    for _ in range(ROUNDS if machine == "free" else 5):
        os.pwrite(writer, b"x" * PAGE, 0)
        assert os.pread(reader, PAGE, 0) == b"x" * PAGE
        change(writer, mount.clients[0] / "a")
        stale += b"x" in os.pread(reader, PAGE, 0)
    assert stale == 0


def test_open_unlinked_file_still_shows_writes_of_others(emufs, machine_file, open_file):
    first, second, third = emufs("--machine", machine_file("free"), clients=3).clients
    writer = open_file(first / "a", os.O_RDWR)
    os.pwrite(writer, b"x" * PAGE, 0)
    reader = open_file(second / "a")
    assert os.pread(reader, PAGE, 0) == b"x" * PAGE
    (third / "a").stat()
    os.unlink(third / "a")
    for _ in range(50):  # meanwhile the third client's kernel reports that it forgot the file
        (third / "b").touch()
        os.unlink(third / "b")
    for i in range(20):
        os.pwrite(writer, bytes([i]) * PAGE, 0)
        assert os.pread(reader, 1, 0) == bytes([i])


def files_held(mount) -> list[str]:
    """Removed files of the backing directory that emufs has open."""
    folder = f"/proc/{mount.pid}/fd"
    links = []
    for number in os.listdir(folder):
        try:
            links.append(os.readlink(f"{folder}/{number}"))
        except FileNotFoundError:
            continue
    return [link for link in links if link.endswith(" (deleted)") and str(mount.backing) in link]


@pytest.mark.parametrize("locks", ["stripe", "object", "none"])
def test_removed_file_frees_its_space_after_other_clients_saw_it(emufs, machine_file, until, locks):
    mount = emufs("--machine", machine_file("free", locks=locks), clients=3)
    first, *others = mount.clients
    for name in ("unlinked", "replaced"):
        (first / name).write_bytes(b"x" * PAGE)
    (first / "folder").mkdir()
    for client in others:
        for name in ("unlinked", "replaced", "folder"):
            (client / name).stat()
    os.unlink(first / "unlinked")
    os.rmdir(first / "folder")
    (first / "new").write_bytes(b"y")
    os.rename(first / "new", first / "replaced")
    until(lambda: not files_held(mount), "the release of removed files")
    assert (others[0] / "replaced").read_bytes() == b"y"
    assert not (others[0] / "unlinked").exists()


def test_caught_signal_does_not_interrupt_a_slow_write(emufs, machine_file, open_file):
    mount = emufs("--machine", machine_file("slow", page_cache="false"))
    for number in range(2):
        mount.command(kind="server", number=number, slowness=125)
    file = open_file(mount.path / "a", os.O_WRONLY)
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.siginterrupt(signal.SIGALRM, False)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        begin = time.monotonic()
        # os.pwrite() would retry.
        written = libc.pwrite(file, b"bytes", 5, ctypes.c_int64(0))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert written == 5
    assert time.monotonic() - begin > 2


@pytest.fixture
def mapped(open_file):
    """mapped(path) maps a file's first page, shared and writable; it is unmapped at the end."""
    maps = []

    def map_it(path) -> mmap.mmap:
        maps.append(mmap.mmap(open_file(path, os.O_RDWR), PAGE))
        return maps[-1]

    yield map_it
    for one in maps:
        one.close()


def test_mapping_synced_before_other_writes_loses_nothing(emufs, machine_file, open_file, mapped):
    first, second = emufs("--machine", machine_file("free"), clients=2).clients
    (first / "a").write_bytes(b"." * PAGE)
    mapping = mapped(first / "a")
    writer = open_file(second / "a", os.O_WRONLY)
    mapping[0] = ord("m")
    mapping.flush()
    os.pwrite(writer, b"w", 100)
    assert mapping[:1] + mapping[100:101] == b"mw"
    mapping[1] = ord("m")
    mapping.flush()
    data = (second / "a").read_bytes()
    assert data[:2] + data[100:101] == b"mmw"


# docs/guides/emufs.md documents this limit. If the test fails, the limit is gone: correct the page.
def test_unsynced_mapping_overwrites_its_whole_page(emufs, machine_file, open_file, mapped):
    first, second = emufs("--machine", machine_file("free"), clients=2).clients
    (first / "a").write_bytes(b"." * PAGE)
    mapping = mapped(first / "a")
    mapping[0] = ord("m")
    os.pwrite(open_file(second / "a", os.O_WRONLY), b"w", 100)
    mapping.flush()
    assert (second / "a").read_bytes()[100:101] == b"."


def test_read_past_the_end_is_dropped_when_another_client_writes_there(
    emufs, machine_file, open_file
):
    mount = emufs("--machine", machine_file("free", locks="stripe"), clients=2)
    for number in range(20):
        first, second = (open_file(client / f"file{number}", os.O_RDWR) for client in mount.clients)
        os.pwrite(first, b"x" * PAGE, 0)
        # The second client gets a size, and reads a whole page when the file is empty.
        assert os.fstat(second).st_size == PAGE
        os.ftruncate(first, 0)
        assert os.pread(second, PAGE, 0) == b""
        text = f"round {number}".encode().ljust(PAGE, b".")
        assert os.pwrite(first, text, 0) == PAGE
        assert os.pread(second, PAGE, 0) == text


@pytest.mark.parametrize("locks", ["stripe", "object"])
def test_read_past_the_end_costs_only_existing_bytes(emufs, machine_file, open_file, locks):
    machine = machine_file("free", locks=locks, page_cache="false")
    mount = emufs("--machine", machine, clients=2)
    (mount.clients[0] / "a").write_bytes(b"x" * PAGE)
    reader = open_file(mount.clients[1] / "a")
    before = mount.stat()["totals"]
    assert os.pread(reader, 1 << 20, PAGE) == b""
    assert mount.stat()["totals"]["bytes_read"] == before["bytes_read"]
    assert os.pread(reader, 1 << 20, 0) == b"x" * PAGE
    assert mount.stat()["totals"]["bytes_read"] == before["bytes_read"] + PAGE


def copied_by_kernel(source, target, size) -> int:
    return os.copy_file_range(source, target, size, 0, 0)


def sent_by_kernel(source, target, size) -> int:
    os.lseek(target, 0, os.SEEK_SET)
    return os.sendfile(target, source, 0, size)


def write_more(file, size):
    os.pwrite(file, b"x" * PAGE, size - PAGE)


def allocate_more(file, size):
    os.posix_fallocate(file, size - PAGE, PAGE)


@pytest.fixture(params=["true", "false"], ids=["cached", "uncached"])
def two_clients(request, emufs, machine_file):
    return emufs("--machine", machine_file("free", page_cache=request.param), clients=2).clients


@pytest.mark.parametrize("transfer", [copied_by_kernel, sent_by_kernel])
@pytest.mark.parametrize("grow", [write_more, os.ftruncate, allocate_more])
def test_kernel_copy_reaches_the_end_of_a_file_that_another_client_grew(
    two_clients, open_file, transfer, grow
):
    first, second = two_clients
    writer = open_file(first / "a", os.O_RDWR)
    source = open_file(second / "a")
    target = open_file(second / "b", os.O_RDWR)
    for size in (PAGE, 3 * PAGE, 5 * PAGE):
        grow(writer, size)
        assert transfer(source, target, 2 * size) == size


def test_sendfile_sees_what_another_client_wrote(two_clients, open_file):
    first, second = two_clients
    writer = open_file(first / "a", os.O_RDWR)
    source = open_file(second / "a")
    target = open_file(second / "b", os.O_RDWR)
    for text in (b"old", b"new"):
        os.pwrite(writer, text, 0)
        assert sent_by_kernel(source, target, 3) == 3
        assert os.pread(target, 3, 0) == text


# Repeatedly opens a file that root creates and removes on another client. Prints how often it
# opened a file of root, and the number of opens.
AS_NOBODY = """
import os, sys, time
folder, name, opened_max, limit_s = sys.argv[1:]
os.chdir(folder)  # its parent directories may be accessible to root only
os.setgroups([]), os.setgid(65534), os.setuid(65534)
foreign = opened = 0
end = time.monotonic() + float(limit_s)
while opened < int(opened_max) and time.monotonic() < end:
    try:
        file = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
        opened += 1
        foreign += os.fstat(file).st_uid == 0
        os.close(file)
        os.unlink(name)
    except OSError:
        continue
print(foreign, opened)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be two users")
def test_private_file_created_concurrently_is_not_opened_by_another_user(emufs, machine_file):
    mount = emufs("--machine", machine_file("free", locks="stripe"), clients=2)
    mount.clients[0].chmod(0o777)
    name = "private"
    command = [sys.executable, "-c", AS_NOBODY, mount.clients[1], name, "500", "20"]
    with subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.PIPE, text=True
    ) as other_user:
        while other_user.poll() is None:
            with contextlib.suppress(OSError):
                os.close(os.open(mount.clients[0] / name, os.O_RDWR | os.O_CREAT, 0o600))
                os.unlink(mount.clients[0] / name)
        foreign, opened_files = map(int, other_user.stdout.read().split())
    assert opened_files > 0
    assert foreign == 0, f"{foreign} of {opened_files}"


# Repeatedly creates and removes a pipe, as an unprivileged user.
PIPES_OF_NOBODY = """
import os, sys, time
os.chdir(sys.argv[1])
os.setgroups([50]), os.setgid(65534), os.setuid(65534)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    for function in (os.mkfifo, os.unlink):
        try:
            function("name")
        except OSError:
            continue
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be two users")
def test_file_renamed_over_a_name_being_created_keeps_its_owner(emufs, machine_file):
    mount = emufs("--machine", machine_file("free"), clients=2)
    first = mount.clients[0]
    first.chmod(0o777)
    command = [sys.executable, "-c", PIPES_OF_NOBODY, str(mount.clients[1]), "1"]
    owners, files = set(), []
    with subprocess.Popen(command) as other_user:
        while other_user.poll() is None:
            files.append(os.open(first / "private", os.O_WRONLY | os.O_CREAT, 0o600))
            os.rename(first / "private", first / "name")
            if len(files) == 100:  # the owner may change a moment later
                owners |= {os.fstat(file).st_uid for file in files}
                while files:
                    os.close(files.pop())
    while files:
        os.close(files.pop())
    assert owners == {0}


AS_MEMBER_OF_GROUP = """
import os, sys
os.chdir(sys.argv[1])
os.setgroups([50]), os.setgid(65534), os.setuid(65534)
os.mkdir("folder"), os.mkfifo("pipe"), os.close(os.open("file", os.O_CREAT | os.O_WRONLY))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")
def test_supplementary_group_member_creates_files_in_the_groups_directory(emufs, machine_file):
    path = emufs("--machine", machine_file("free")).path
    (path / "shared").mkdir()
    os.chown(path / "shared", 0, 50)
    (path / "shared").chmod(0o770)
    command = [sys.executable, "-c", AS_MEMBER_OF_GROUP, str(path / "shared")]
    subprocess.run(command, check=True, timeout=30)
    for name in ("folder", "pipe", "file"):
        found = (path / "shared" / name).stat()
        assert (found.st_uid, found.st_gid) == (65534, 65534)
