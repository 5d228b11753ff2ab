#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kill one rank of a job that reads, and check what is left.

Usage: killed_rank.py --victim agent|client --message REGEX [--left-by-mpi REGEX]
                      -- LAUNCHER... : PROGRAM

Succeeds if the job ends soon, with an error and the message that docs/guides/mpi.md states. It must
leave no process, no socket and no shared memory behind, except what that MPI always leaves.
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
END_TIMEOUT_S = 10
PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS = 0x20000
LIBC = ctypes.CDLL(None, use_errno=True)


class FailedError(Exception):
    """A check that failed."""


def has_own_shared_memory() -> bool:
    """Mounts a /dev/shm for this job alone: what is in it afterwards was left there. Needs root."""
    if os.geteuid() != 0 or LIBC.unshare(CLONE_NEWNS) != 0:
        return False
    for command in ("mount --make-rprivate /", "mount -t tmpfs -o size=1g tmpfs /dev/shm"):
        if subprocess.run(command.split(), check=False, capture_output=True).returncode != 0:
            return False
    return True


class Job:
    """A launcher, and the output of it and its ranks."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        os.set_blocking(self.process.stdout.fileno(), False)
        self.output = ""
        self._output = selectors.DefaultSelector()
        self._output.register(self.process.stdout, selectors.EVENT_READ)

    def read_output(self, patience_s: float) -> None:
        """Reads output until the time is over, or until all processes have ended."""
        deadline = time.monotonic() + patience_s
        while self._output.select(max(0, deadline - time.monotonic())):
            some = self.process.stdout.read()
            if some == b"":
                return
            self.output += (some or b"").decode(errors="replace")


def children() -> list[int]:
    """Child processes, among them those of the job whose parents have ended."""
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
        remaining = children()
        if not remaining or time.monotonic() > deadline:
            return remaining
        time.sleep(0.02)


def wait_for_end(job: Job, patience_s: float) -> int:
    """Waits for the end of the launcher and its output; returns its exit code."""
    deadline = time.monotonic() + patience_s
    job.read_output(patience_s)
    try:
        return job.process.wait(max(0.01, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        raise FailedError(f"the job did not end within {patience_s} s") from None


def reading_ranks(job: Job, file: Path) -> list[int]:
    """Waits until all ranks read; returns their processes."""
    deadline = time.monotonic() + START_PATIENCE_S
    while True:
        job.read_output(0.02)
        ranks = [int(made.suffix[1:]) for made in file.parent.glob(f"{file.name}.*")]
        if len(ranks) == RANKS:
            return ranks
        if time.monotonic() > deadline or job.process.poll() is not None:
            raise FailedError("the ranks did not begin to read")


def kill_one(job: Job, ranks: list[int], victim: str, message: str) -> set[str]:
    """Kills one rank and waits for the end of the job; returns the names of the job's sockets."""
    sockets = sockets_of(ranks)
    owner = [pid for pid in ranks if "forebay-agent" in threads_of(pid)]
    if not sockets or len(owner) != 1:
        raise FailedError(f"ranks {ranks}, sockets {sockets}, agents of the node {owner}")
    others = [pid for pid in ranks if pid not in owner]
    begin = time.monotonic()
    os.kill(owner[0] if victim == "agent" else others[0], signal.SIGKILL)
    code = wait_for_end(job, END_TIMEOUT_S)
    print(f"the job ended after {time.monotonic() - begin:.2f} s with {code}")
    if code == 0:
        raise FailedError("the launcher returned no error")
    if not re.search(message, job.output):
        raise FailedError(f"the launcher did not print {message!r}")
    remaining = left_processes(END_TIMEOUT_S)  # a launcher may end a moment before its ranks do
    remaining += [pid for pid in ranks if os.path.exists(f"/proc/{pid}")]
    if remaining:
        raise FailedError(f"processes are left: {remaining}")
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


def check_nothing_is_left(sockets: set[str], is_private: bool, left_by_mpi: str) -> None:
    remaining = sockets & set(socket_names().values())
    if remaining:
        raise FailedError(f"sockets are left: {remaining}")
    memory = [name for name in os.listdir("/dev/shm") if is_private or "forebay" in name]
    memory = [name for name in memory if not re.fullmatch(left_by_mpi, name)]
    if memory:
        raise FailedError(f"shared memory is left: {memory}")
    print("nothing is left" if is_private else "nothing with Forebay's name is left")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--victim", choices=["agent", "client"], required=True)
    parser.add_argument("--message", required=True)
    parser.add_argument(
        "--left-by-mpi", default="", help="regular expression of names that MPI leaves in /dev/shm"
    )
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    cut = arguments.command.index(":")
    launcher, program = arguments.command[:cut], arguments.command[cut + 1 :]
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    is_private = has_own_shared_memory()
    with tempfile.TemporaryDirectory(prefix="forebay-killed-") as directory:
        file = Path(directory) / "bytes"
        file.write_bytes(os.urandom(FILE_BYTES))
        job = Job([*launcher, "-n", str(RANKS), *program, str(file)])
        try:
            ranks = reading_ranks(job, file)
            sockets = kill_one(job, ranks, arguments.victim, arguments.message)
            check_nothing_is_left(sockets, is_private, arguments.left_by_mpi)
        except FailedError as error:
            print(f"{job.output}\nkilled_rank.py: {error}", file=sys.stderr)
            return 1
        finally:
            for pid in children():
                os.kill(pid, signal.SIGKILL)
            left_processes(END_TIMEOUT_S)
    return 0


if __name__ == "__main__":
    sys.exit(main())
