# SPDX-License-Identifier: Apache-2.0
"""Passes byte blocks between the processes of a node, each by a file in shared memory.

One process reads a block from storage and publishes it; the others receive it. Each receiver has
its own hard link to the complete file and removes it, so the memory is free when the last receiver
has the bytes.
"""

import contextlib
import os
import pathlib
import secrets
import shutil
import time

SHARED_MEMORY = pathlib.Path("/dev/shm")
POLL_INTERVAL_S = 0.002
ABANDONED_AFTER_S = 86_400


def node_key() -> str:
    """Equal in processes of one user that share SHARED_MEMORY; "" if there is none."""
    try:
        boot = pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}-{SHARED_MEMORY.stat().st_dev}-{os.getuid()}"
    except OSError:
        return ""


def new_token() -> str:
    """A name for one exchange, which all its processes use."""
    return secrets.token_hex(16)


class Deadline:
    """The end of a wait that has a limit in seconds."""

    def __init__(self, limit_s: float):
        self._limit_s = limit_s
        self._end = time.monotonic() + limit_s

    def check(self, operation: str):
        """Raises TimeoutError, naming the operation, after the end."""
        if self._remaining_s() == 0:
            raise TimeoutError(f"{operation}: not finished after {self._limit_s:g} s")

    def wait(self, future, operation: str):
        """The result of a future, or raises as check()."""
        try:
            return future.result(self._remaining_s())
        except TimeoutError:
            self.check(operation)
            raise

    def _remaining_s(self) -> float:
        return max(0.0, self._end - time.monotonic())


class NodeExchange:
    """The blocks of one exchange, by number. `rank` identifies this process in it.

    publish() and receive() never block. Blocks have at least one byte.
    """

    def __init__(self, token: str, rank: int):
        self._folder = SHARED_MEMORY / f"forebay-{os.getuid()}-{token}"
        self._rank = rank
        self._published: list[tuple[pathlib.Path, int]] = []

    def publish(self, number: int, block: memoryview | bytes, receivers: list[int]):
        """Passes a block to the receivers. An empty one reports that it cannot be read."""
        if not self._published:
            _remove_abandoned()
        file = self._folder / f"{number}.source"
        try:
            with self._create(file) as target:
                rest = memoryview(block)
                while rest:
                    rest = rest[target.write(rest) :]
            for rank in receivers:
                with contextlib.suppress(FileExistsError):  # of a publication that failed half-way
                    os.link(file, self._link(number, rank))
        except OSError:
            file.unlink(missing_ok=True)
            raise
        self._published.append((file, len(block)))

    def _create(self, file: pathlib.Path):
        while True:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            # Between both calls, close() of another process may remove the empty folder.
            with contextlib.suppress(FileNotFoundError):
                return open(file, "xb", buffering=0)

    def receive(self, number: int) -> bytearray | None:
        """The block, empty if its reader has failed. None if it is not published yet."""
        link = self._link(number, self._rank)
        try:
            with open(link, "rb", buffering=0) as source:
                block = bytearray(os.fstat(source.fileno()).st_size)
                rest = memoryview(block)
                while rest:
                    rest = rest[source.readinto(rest) :]
        except FileNotFoundError:
            return None
        link.unlink()
        return block

    def unreceived_bytes(self) -> int:
        """Size of the own blocks that not all receivers have."""
        held = []
        for file, size in self._published:
            if file.stat().st_nlink > 1:
                held.append((file, size))
            else:
                file.unlink()
        self._published = held
        return sum(size for _, size in held)

    def close(self):
        """Discards what this process has not received. Its own blocks stay for their receivers."""
        files = [file for file, _ in self._published]
        with contextlib.suppress(FileNotFoundError):  # another process has removed the folder
            files += self._folder.glob(f"*.{self._rank}")
        for file in files:
            file.unlink(missing_ok=True)
        self._published = []
        with contextlib.suppress(OSError):  # absent, or other processes still use it
            self._folder.rmdir()

    def _link(self, number: int, rank: int) -> pathlib.Path:
        return self._folder / f"{number}.{rank}"


def _remove_abandoned():
    """Removes what killed processes of this user have left, after a day."""
    for folder in SHARED_MEMORY.glob(f"forebay-{os.getuid()}-*"):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > ABANDONED_AFTER_S:
                shutil.rmtree(folder)
