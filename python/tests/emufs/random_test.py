# SPDX-License-Identifier: Apache-2.0
"""Random operations on files through one and two clients have the results of a model in memory.

Operations are plain tuples that depend only on the seed. Each is valid after any others, so a
failing list stays valid when operations are removed. A failure prints its seed and the necessary
operations. FOREBAY_TEST_ALL=1 tries all seeds, with more operations each.
"""

import contextlib
import ctypes
import ctypes.util
import errno
import itertools
import mmap
import os
import random
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

TRIES_ALL = os.environ.get("FOREBAY_TEST_ALL") == "1"
SEEDS = range(1, 101 if TRIES_ALL else 4)
COUNT = 20_000 if TRIES_ALL else 2_000
SHRINK_S = 30
SHOWN_MAX = 40
NAMES = "abcde"
SLOTS = 6
PAGE = 4096
STRIPE = 65536
END_MAX = 4 * STRIPE
CHECK_EACH = 2000
KEEP_SIZE, PUNCH_HOLE = 1, 2
BYTES = random.Random(0).randbytes(1 << 20)

libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)


def fallocate(file: int, mode: int, offset: int, size: int) -> None:
    if libc.fallocate(file, mode, offset, size) != 0:
        raise OSError(ctypes.get_errno(), "fallocate")


@dataclass(eq=False)
class File:
    """A file of the model, named or not."""

    data: bytearray = field(default_factory=bytearray)
    links: int = 1

    def resize(self, size: int) -> None:
        del self.data[size:]
        self.data.extend(bytes(size - len(self.data)))

    def write(self, offset: int, data: bytes) -> None:
        if not data:
            return
        if offset > len(self.data):
            self.resize(offset)
        self.data[offset : offset + len(data)] = data

    def at(self, place: tuple) -> int:
        """An offset: ("at", offset) or ("end", distance)."""
        start = 0 if place[0] == "at" else len(self.data)
        return min(max(start + place[1], 0), END_MAX)


@dataclass(eq=False)
class OpenFile:
    """A descriptor of one client."""

    number: int
    client: int
    file: File
    flags: int

    @property
    def reads(self) -> bool:
        return self.flags & os.O_ACCMODE != os.O_WRONLY

    @property
    def writes(self) -> bool:
        return self.flags & os.O_ACCMODE != os.O_RDONLY

    @property
    def appends(self) -> bool:
        return bool(self.flags & os.O_APPEND)


def require_equal(what: str, got, expected) -> None:
    if got == expected:
        return
    if isinstance(got, (bytes, bytearray)):
        first = next(
            (i for i, (a, b) in enumerate(zip(got, expected, strict=False)) if a != b), "none"
        )
        got, expected = (f"{len(one)} bytes" for one in (got, expected))
        what += f", first different byte {first}"
    raise AssertionError(f"{what}: {got} instead of {expected}")


class FilesystemModel:
    """A directory as clients see it, and its model. The owner calls close()."""

    def __init__(self, clients: list[Path], backing: Path):
        self.clients, self.backing = clients, backing
        self.names: dict[str, File] = {}
        self.slots: list[OpenFile | None] = [None] * SLOTS
        self.sink = os.memfd_create("sink")

    def close(self) -> None:
        for slot in range(SLOTS):
            self.close_slot(slot)
        os.close(self.sink)

    def run(self, operations: list[tuple]) -> None:
        for count, (name, *arguments) in enumerate(operations, 1):
            getattr(self, name)(*arguments)
            if count % CHECK_EACH == 0:
                self.check_all()
        self.check_all()

    def expect(self, error: int, function, *arguments):
        """Calls the function, which must fail with `error` unless that is 0. Returns its result;
        None after the error."""
        try:
            result = function(*arguments)
        except OSError as raised:
            require_equal(
                function.__name__, errno.errorcode[raised.errno], errno.errorcode.get(error, "ok")
            )
            return None
        require_equal(function.__name__, "ok", errno.errorcode.get(error, "ok"))
        return result

    def resize(self, file: File, size: int) -> None:
        """Resizes the model, and calls fstat() on all descriptors. Until then a kernel keeps the
        old size of a file that another client truncated, and may return zeros up to it:
        docs/guides/emufs.md documents this limit."""
        file.resize(size)
        for slot in range(SLOTS):
            if (opened := self.slots[slot]) and opened.file is file:
                self.stat_open(slot)

    def path(self, client: int, name: str) -> Path:
        return self.clients[client] / name

    # Names

    def open(self, client: int, slot: int, name: str, flags: int) -> None:
        self.close_slot(slot)
        file = self.names.get(name)
        error = 0
        if file is None and not flags & os.O_CREAT:
            error = errno.ENOENT
        if file is not None and flags & os.O_CREAT and flags & os.O_EXCL:
            error = errno.EEXIST
        number = self.expect(error, os.open, self.path(client, name), flags, 0o644)
        if error:
            return
        if file is None:
            file = self.names[name] = File()
        if flags & os.O_TRUNC:
            self.resize(file, 0)
        self.slots[slot] = OpenFile(number, client, file, flags)

    def close_slot(self, slot: int) -> None:
        if opened := self.slots[slot]:
            os.close(opened.number)
        self.slots[slot] = None

    def unlink(self, client: int, name: str) -> None:
        error = 0 if name in self.names else errno.ENOENT
        self.expect(error, os.unlink, self.path(client, name))
        if not error:
            self.names.pop(name).links -= 1

    def link(self, client: int, old: str, new: str) -> None:
        error = 0 if old in self.names else errno.ENOENT
        if not error and new in self.names:
            error = errno.EEXIST
        self.expect(error, os.link, self.path(client, old), self.path(client, new))
        if not error:
            self.names[new] = self.names[old]
            self.names[new].links += 1

    def rename(self, client: int, old: str, new: str) -> None:
        error = 0 if old in self.names else errno.ENOENT
        self.expect(error, os.rename, self.path(client, old), self.path(client, new))
        if error or self.names[old] is self.names.get(new):
            return
        if replaced := self.names.get(new):
            replaced.links -= 1
        self.names[new] = self.names.pop(old)

    def truncate(self, client: int, name: str, place: tuple) -> None:
        file = self.names.get(name)
        size = file.at(place) if file else 0
        error = 0 if file else errno.ENOENT
        self.expect(error, os.truncate, self.path(client, name), size)
        if file:
            self.resize(file, size)

    def stat(self, client: int, name: str) -> None:
        file = self.names.get(name)
        found = self.expect(0 if file else errno.ENOENT, os.stat, self.path(client, name))
        if file:
            require_equal("stat", (found.st_size, found.st_nlink), (len(file.data), file.links))

    def list(self, client: int) -> None:
        require_equal("names", sorted(os.listdir(self.clients[client])), sorted(self.names))

    def read_all(self, client: int, name: str) -> None:
        if file := self.names.get(name):
            require_equal(f"content of {name}", self.path(client, name).read_bytes(), file.data)

    def sync_folder(self, client: int) -> None:
        folder = os.open(self.clients[client], os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

    # Bytes

    def read(self, slot: int, place: tuple, size: int) -> None:
        if not (opened := self.slots[slot]):
            return
        offset = opened.file.at(place)
        error = 0 if opened.reads else errno.EBADF
        got = self.expect(error, os.pread, opened.number, size, offset)
        if not error:
            require_equal("read", got, opened.file.data[offset : offset + size])

    def write(self, slot: int, place: tuple, size: int, salt: int) -> None:
        if not (opened := self.slots[slot]):
            return
        offset = opened.file.at(place)
        data = BYTES[salt : salt + size]
        error = 0 if opened.writes else errno.EBADF
        written = self.expect(error, os.pwrite, opened.number, data, offset)
        if error:
            return
        require_equal("written", written, size)
        opened.file.write(len(opened.file.data) if opened.appends else offset, data)

    def truncate_open(self, slot: int, place: tuple) -> None:
        if not (opened := self.slots[slot]):
            return
        size = opened.file.at(place)
        error = 0 if opened.writes else errno.EINVAL
        self.expect(error, os.ftruncate, opened.number, size)
        if not error:
            self.resize(opened.file, size)

    def map(self, slot: int, place: tuple, size: int, salt: int) -> None:
        opened = self.slots[slot]
        if not opened or not opened.reads or not opened.file.data:
            return
        file = opened.file
        offset = min(file.at(place), len(file.data) - 1)
        data = BYTES[salt : salt + min(size, len(file.data) - offset)]
        access = mmap.ACCESS_WRITE if opened.writes else mmap.ACCESS_READ
        with mmap.mmap(opened.number, 0, access=access) as mapping:
            end = offset + len(data)
            require_equal("mapping", mapping[offset:end], file.data[offset:end])
            if opened.writes:
                mapping[offset:end] = data
                mapping.flush()
                file.write(offset, data)

    def allocate(self, slot: int, mode: int, place: tuple, size: int) -> None:
        if not (opened := self.slots[slot]):
            return
        file = opened.file
        offset = file.at(place)
        error = 0 if opened.writes else errno.EBADF
        self.expect(error, fallocate, opened.number, mode, offset, size)
        if error:
            return
        if mode & PUNCH_HOLE:
            file.write(offset, bytes(max(min(size, len(file.data) - offset), 0)))
        elif not mode & KEEP_SIZE:
            file.resize(max(len(file.data), offset + size))

    def transfer(self, what: str, transfer_once, expected: bytes) -> None:
        """Calls transfer_once(done, rest) until all of `expected` is transferred. If that is empty,
        the call must return 0."""
        done = 0
        while done < len(expected):
            step = transfer_once(done, len(expected) - done)
            if step <= 0:
                raise AssertionError(f"{what}: {done} bytes instead of {len(expected)}")
            done += step
        if not expected:
            require_equal(what, transfer_once(0, 1), 0)

    def copy(self, slot: int, to_slot: int, place: tuple, to_place: tuple, size: int) -> None:
        source, target = self.slots[slot], self.slots[to_slot]
        if not source or not target or source.client != target.client:
            return
        if not source.reads or not target.writes or target.appends or source.file is target.file:
            return
        offset, to = source.file.at(place), target.file.at(to_place)
        data = bytes(source.file.data[offset : offset + size])

        def transfer_once(done, rest):
            return os.copy_file_range(source.number, target.number, rest, offset + done, to + done)

        self.transfer("copy_file_range", transfer_once, data)
        target.file.write(to, data)

    def send(self, slot: int, place: tuple, size: int) -> None:
        source = self.slots[slot]
        if not source or not source.reads:
            return
        offset = source.file.at(place)
        data = bytes(source.file.data[offset : offset + size])
        os.ftruncate(self.sink, 0)
        os.lseek(self.sink, 0, os.SEEK_SET)

        def transfer_once(done, rest):
            return os.sendfile(self.sink, source.number, offset + done, rest)

        self.transfer("sendfile", transfer_once, data)
        require_equal("sendfile", os.pread(self.sink, size, 0), data)

    def send_to(self, slot: int, to_slot: int, place: tuple, to_place: tuple, size: int) -> None:
        source, target = self.slots[slot], self.slots[to_slot]
        if not source or not target or not source.reads or not target.writes:
            return
        if target.appends or source.file is target.file:
            return
        offset, to = source.file.at(place), target.file.at(to_place)
        data = bytes(source.file.data[offset : offset + size])
        os.lseek(target.number, to, os.SEEK_SET)

        def transfer_once(done, rest):
            return os.sendfile(target.number, source.number, offset + done, rest)

        self.transfer("sendfile to a file", transfer_once, data)
        target.file.write(to, data)

    def sync(self, slot: int, function: str) -> None:
        if opened := self.slots[slot]:
            getattr(os, function)(opened.number)

    def stat_open(self, slot: int) -> None:
        if opened := self.slots[slot]:
            found = os.fstat(opened.number)
            expected = (len(opened.file.data), opened.file.links)
            require_equal("fstat", (found.st_size, found.st_nlink), expected)

    def check_all(self) -> None:
        for client in range(len(self.clients)):
            self.list(client)
            for name in self.names:
                self.stat(client, name)
                self.read_all(client, name)
        for slot in range(SLOTS):
            self.stat_open(slot)
            if (opened := self.slots[slot]) and opened.reads:
                self.read(slot, ("at", 0), END_MAX * 2)
        for name, file in self.names.items():
            require_equal(f"backing file of {name}", (self.backing / name).read_bytes(), file.data)


class OperationGenerator:
    """Generates operations from a seed."""

    def __init__(self, seed: int, clients: int):
        self.random = random.Random(seed)
        self.clients = clients

    def client(self) -> int:
        return self.random.randrange(self.clients)

    def slot(self) -> int:
        return self.random.randrange(SLOTS)

    def name(self) -> str:
        return self.random.choice(NAMES)

    def salt(self) -> int:
        return self.random.randrange(len(BYTES) - 2 * STRIPE)

    def place(self) -> tuple:
        near = self.random.choice(
            [0, 0, 1, -1, 100, -100, PAGE, -PAGE, self.random.randrange(PAGE)]
        )
        if self.random.random() < 0.4:
            return "end", near
        unit = self.random.choice([PAGE, STRIPE])
        return "at", max(self.random.randrange(2 * STRIPE // unit + 1) * unit + near, 0)

    def size(self) -> int:
        usual = self.random.choice([1, 7, 512, PAGE - 1, PAGE, PAGE + 1, STRIPE, STRIPE + 1])
        return self.random.choice([usual, 1 + self.random.randrange(3 * PAGE)])

    def flags(self) -> int:
        flags = self.random.choice([os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_RDWR, os.O_RDWR])
        for flag, chance in ((os.O_CREAT, 0.7), (os.O_EXCL, 0.1), (os.O_APPEND, 0.2)):
            if self.random.random() < chance:
                flags |= flag
        if not flags & os.O_CREAT:
            flags &= ~os.O_EXCL
        if flags & os.O_ACCMODE != os.O_RDONLY and self.random.random() < 0.1:
            flags |= os.O_TRUNC
        return flags

    def mode(self) -> int:
        return self.random.choice([0, KEEP_SIZE, KEEP_SIZE | PUNCH_HOLE, KEEP_SIZE | PUNCH_HOLE])

    def function(self) -> str:
        return self.random.choice(["fsync", "fdatasync"])


# The weight of each operation, and its arguments.
OPERATIONS = {
    "open": (14, "client slot name flags"),
    "close_slot": (2, "slot"),
    "unlink": (2, "client name"),
    "link": (3, "client name name"),
    "rename": (4, "client name name"),
    "truncate": (3, "client name place"),
    "stat": (5, "client name"),
    "list": (1, "client"),
    "read_all": (3, "client name"),
    "sync_folder": (0.2, "client"),
    "read": (20, "slot place size"),
    "write": (20, "slot place size salt"),
    "truncate_open": (3, "slot place"),
    "map": (6, "slot place size salt"),
    "allocate": (4, "slot mode place size"),
    "copy": (6, "slot slot place place size"),
    "send": (4, "slot place size"),
    "send_to": (4, "slot slot place place size"),
    "sync": (0.5, "slot function"),
    "stat_open": (5, "slot"),
}


def make_operations(seed: int, clients: int, count: int) -> list[tuple]:
    maker = OperationGenerator(seed, clients)
    weights = [weight for weight, _ in OPERATIONS.values()]
    kinds = maker.random.choices(list(OPERATIONS), weights, k=count)
    return [
        (kind, *(getattr(maker, word)() for word in OPERATIONS[kind][1].split())) for kind in kinds
    ]


def failure_of(clients: list[Path], backing: Path, folder: str, operations: list[tuple]) -> str:
    """Runs operations in a new directory. Returns the failure, or an empty text."""
    (clients[0] / folder).mkdir()
    world = FilesystemModel([client / folder for client in clients], backing / folder)
    try:
        world.run(operations)
    except (AssertionError, OSError) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        with contextlib.suppress(OSError):
            world.close()
    return ""


def shrink(operations: list[tuple], fails) -> list[tuple]:
    """Removes operations that the failure does not need, as far as SHRINK_S allows."""
    end = time.monotonic() + SHRINK_S
    size = len(operations) // 2
    while size > 0:
        at = 0
        while at < len(operations) and time.monotonic() < end:
            rest = operations[:at] + operations[at + size :]
            if fails(rest):
                operations = rest
            else:
                at += size
        size //= 2
    return operations


def report(seed: int, operations: list[tuple], failure_after) -> str:
    """The failure with its seed and operations; empty if there is none."""
    failure = failure_after(operations)
    if not failure:
        return ""
    left = []
    if not failure_after([]):
        left = shrink(operations, failure_after)
        failure = failure_after(left) or failure
    shown = [repr(operation) for operation in (left or operations)[-SHOWN_MAX:]]
    return "\n".join(
        [f"seed {seed}: {failure}; {len(left)} operations are left, the last:", *shown]
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("clients", [1, 2])
def test_random_operations_match_the_model(emufs, machine_file, clients, seed):
    locks = "object" if seed % 4 == 0 else "stripe"
    cached = "false" if seed % 3 == 0 else "true"
    machine = machine_file("free", locks=locks, page_cache=cached)
    mount = emufs("--machine", machine, "--no-sync", clients=clients)
    folders = (f"run{number}" for number in itertools.count())

    def failure_after(operations):
        return failure_of(mount.clients, mount.backing, next(folders), operations)

    found = report(seed, make_operations(seed, clients, COUNT), failure_after)
    assert not found, found
