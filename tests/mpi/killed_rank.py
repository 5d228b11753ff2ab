#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills one rank of a job that reads, and looks at what is left.

Usage: killed_rank.py --victim agent|client --message REGEX [--left-by-mpi REGEX]
                      -- LAUNCHER... : PROGRAM

Fails unless the job ends soon, with an error and the message that docs/guides/mpi.md promises, and
leaves no process, no socket and no shared memory behind, but for what that MPI always leaves.
"""

import argparse
import contextlib
import ctypes
import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RANKS = 3
FILE_BYTES = 4_000_000
START_PATIENCE_S = 30
END_PATIENCE_S = 10
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS = 0x20000
LIBC = ctypes.CDLL(None, use_errno=True)


class FailedError(Exception):
    """What is not as it should be."""


def has_own_shared_memory() -> bool:
    """A /dev/shm of this job alone, so that what is in it afterwards was left there. Takes root."""
    if os.geteuid() != 0 or LIBC.unshare(CLONE_NEWNS) != 0:
        return False
    for command in ("mount --make-rprivate /", "mount -t tmpfs -o size=1g tmpfs /dev/shm"):
        if subprocess.run(command.split(), check=False, capture_output=True).returncode != 0:
            return False
    return True


class Job:
    """A launcher and what it and its ranks say."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        os.set_blocking(self.process.stdout.fileno(), False)
        self.said = ""
        self._output = selectors.DefaultSelector()
        self._output.register(self.process.stdout, selectors.EVENT_READ)

    def listen(self, patience_s: float) -> None:
        """Takes what is said until then, or until nobody is there to say anything."""
        deadline = time.monotonic() + patience_s
        while self._output.select(max(0, deadline - time.monotonic())):
            some = self.process.stdout.read()
            if some == b"":
                return
            self.said += (some or b"").decode(errors="replace")


def children() -> list[int]:
    """Processes of the job that are ours, among them those whose parents have ended."""
    with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as listed:
        return [int(word) for word in listed.read().split()]


def reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def left_processes(patience_s: float) -> list[int]:
    deadline = time.monotonic() + patience_s
    while True:
        reap()
        left = children()
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.02)


def end_of(job: Job, patience_s: float) -> int:
    """The launcher's exit code, once it and its output have ended."""
    deadline = time.monotonic() + patience_s
    job.listen(patience_s)
    try:
        return job.process.wait(max(0.01, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise FailedError(f"the job did not end within {patience_s} s") from None


def reading_ranks(job: Job, file: Path) -> list[int]:
    """The processes of the ranks, once all of them read."""
    deadline = time.monotonic() + START_PATIENCE_S
    while True:
        job.listen(0.02)
        ranks = [int(made.suffix[1:]) for made in file.parent.glob(f"{file.name}.*")]
        if len(ranks) == RANKS:
            return ranks
        if time.monotonic() > deadline or job.process.poll() is not None:
            raise FailedError("the ranks did not begin to read")


def kill_one(job: Job, ranks: list[int], victim: str, message: str) -> set[str]:
    """The names of the sockets that the job had."""
    sockets = sockets_of(ranks)
    owner = [pid for pid in ranks if "forebay-agent" in threads_of(pid)]
    if not sockets or len(owner) != 1:
        raise FailedError(f"ranks {ranks}, sockets {sockets}, agents of the node {owner}")
    others = [pid for pid in ranks if pid not in owner]
    begin = time.monotonic()
    os.kill(owner[0] if victim == "agent" else others[0], signal.SIGKILL)
    code = end_of(job, END_PATIENCE_S)
    print(f"the job ended after {time.monotonic() - begin:.2f} s with {code}")
    if code == 0:
        raise FailedError("the launcher told no error")
    if not re.search(message, job.said):
        raise FailedError(f"the launcher did not say {message!r}")
    left = left_processes(END_PATIENCE_S)  # a launcher may end a moment before its ranks do
    left += [pid for pid in ranks if os.path.exists(f"/proc/{pid}")]
    if left:
        raise FailedError(f"processes are left: {left}")
    return sockets


def threads_of(pid: int) -> set[str]:
    names = set()
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/comm", encoding="ascii") as name:
            names.add(name.read().strip())
    return names


def socket_names() -> dict[str, str]:
    """Names of Forebay's sockets in this network namespace, by inode."""
    with open("/proc/net/unix", encoding="ascii") as table:
        rows = [line.split() for line in table]
    return {row[6]: row[7] for row in rows if len(row) > 7 and row[7].startswith("@forebay-")}


def sockets_of(ranks: list[int]) -> set[str]:
    known = socket_names()
    found = set()
    for pid in ranks:
        for number in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(FileNotFoundError):
                inode = os.readlink(f"/proc/{pid}/fd/{number}").removeprefix("socket:[")[:-1]
                found.update({known[inode]} if inode in known else {})
    return found


def look_for_leftovers(sockets: set[str], own_memory: bool, left_by_mpi: str) -> None:
    left = sockets & set(socket_names().values())
    if left:
        raise FailedError(f"sockets are left: {left}")
    memory = [name for name in os.listdir("/dev/shm") if own_memory or "forebay" in name]
    memory = [name for name in memory if not re.fullmatch(left_by_mpi, name)]
    if memory:
        raise FailedError(f"shared memory is left: {memory}")
    print("nothing is left" if own_memory else "nothing of Forebay's name is left")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--victim", choices=["agent", "client"], required=True)
    parser.add_argument("--message", required=True)
    parser.add_argument("--left-by-mpi", default="", help="names in /dev/shm")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    cut = arguments.command.index(":")
    launcher, program = arguments.command[:cut], arguments.command[cut + 1 :]
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    own_memory = has_own_shared_memory()
    with tempfile.TemporaryDirectory(prefix="forebay-killed-") as folder:
        file = Path(folder) / "bytes"
        file.write_bytes(os.urandom(FILE_BYTES))
        job = Job([*launcher, "-n", str(RANKS), *program, str(file)])
        try:
            ranks = reading_ranks(job, file)
            sockets = kill_one(job, ranks, arguments.victim, arguments.message)
            look_for_leftovers(sockets, own_memory, arguments.left_by_mpi)
        except FailedError as error:
            print(f"{job.said}\nkilled_rank.py: {error}", file=sys.stderr)
            return 1
        finally:
            for pid in children():
                os.kill(pid, signal.SIGKILL)
            left_processes(END_PATIENCE_S)
    return 0


if __name__ == "__main__":
    sys.exit(main())
