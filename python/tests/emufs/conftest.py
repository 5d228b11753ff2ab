# SPDX-License-Identifier: Apache-2.0
"""Mounts for tests, each of which is removed in any case.

A watchdog kills an emufs whose test takes too long, so that system calls in its mount fail and do
not hang.
"""

import json
import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from forebay import native

LIMIT_S = 90
PROGRAM = "forebay-emufs"

# Servers that reply at once, for tests of results and not of times.
FREE = """
format = 1
name = "free"
[client]
count = 4
page_cache = {page_cache}
[layout]
stripe_bytes = "64 KiB"
stripe_count = 0
[[servers]]
count = 4
latency_us = 0
concurrency = 16
bandwidth_mb_per_s = 0
[locks]
unit = "{locks}"
"""

# One request at a time, 20 ms each, so that waiting is visible on any machine.
SLOW = """
format = 1
name = "slow"
[client]
count = 4
page_cache = {page_cache}
[layout]
stripe_bytes = "64 KiB"
stripe_count = 0
[[servers]]
count = 2
latency_us = {latency_us}
concurrency = {concurrency}
bandwidth_mb_per_s = 0
[locks]
unit = "{locks}"
change_us = 20000
"""


@dataclass
class Mount:
    """A mounted emufs."""

    path: Path
    backing: Path
    pid: int
    clients: list[Path] = field(default_factory=list)

    def is_alive(self) -> bool:
        try:
            stat = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii")
        except FileNotFoundError:
            return False
        return stat.rpartition(")")[2].split()[0] not in "ZX"

    def kill(self) -> None:
        if self.is_alive():
            os.kill(self.pid, signal.SIGKILL)
        wait_until(lambda: not self.is_alive(), "the end of a killed emufs")

    def stat(self) -> dict:
        return json.loads(os.getxattr(self.clients[0], "user.emufs.stat"))

    def command(self, **fault) -> None:
        os.setxattr(self.clients[0], "user.emufs.fault", json.dumps(fault).encode())


def wait_until(condition, what, limit_s=30):
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen in {limit_s} s"
        time.sleep(0.005)


def run_native(*args, code=0) -> dict:
    """Runs forebay-emufs; returns its document, or its error if `code` is not 0."""
    command = [str(native.find_program(PROGRAM)), *(str(word) for word in args)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if code == 0 else json.loads(done.stderr)["error"]


@pytest.fixture
def until():
    """until(condition, what) waits for a condition, with a time limit."""
    return wait_until


@pytest.fixture
def program(can_mount):
    """program(*args, code=0) runs forebay-emufs."""
    return run_native


@pytest.fixture(scope="session")
def can_mount(real_native):
    """Skips the test if nothing can be mounted."""
    real_native(PROGRAM)
    if not os.path.exists("/dev/fuse"):
        pytest.skip("/dev/fuse does not exist")
    if os.geteuid() != 0:
        pytest.skip("mounting requires root")


@pytest.fixture
def machine_file(tmp_path):
    """machine_file("free" or "slow", **values) writes a machine file."""

    def write(name: str, **values) -> Path:
        text = {"free": FREE, "slow": SLOW}[name]
        usual = {"page_cache": "true", "locks": "stripe", "concurrency": 1, "latency_us": 20_000}
        settings = usual | values
        path = tmp_path / f"machine{len(list(tmp_path.glob('machine*.toml')))}.toml"
        path.write_text(text.format(**settings), encoding="utf-8")
        return path

    return write


@pytest.fixture
def emufs(tmp_path, can_mount):
    """emufs(*options, backing=None, clients=1) mounts; the mount is removed at the end."""
    mounts = []

    def mount(*options, backing=None, clients=1) -> Mount:
        number = len(mounts)
        folder = backing or tmp_path / f"backing{number}"
        path = tmp_path / f"mount{number}"
        folder.mkdir(exist_ok=True)
        path.mkdir(exist_ok=True)
        args = ["mount", *options, "--clients", clients, folder, path]
        document = run_native(*args)
        points = [Path(point) for point in document["mount_points"]]
        mounts.append(Mount(path, folder, document["pid"], points))
        return mounts[-1]

    watchdog = threading.Timer(LIMIT_S, lambda: [one.kill() for one in mounts])
    watchdog.start()
    yield mount
    watchdog.cancel()
    for one in mounts:
        unmount_all(one)


def unmount_all(mount: Mount) -> None:
    left = [line.split()[1] for line in Path("/proc/mounts").read_text("utf-8").splitlines()]
    if any(str(point) in left for point in mount.clients):
        run_native("unmount", "--lazy", mount.path)
    end = time.monotonic() + 5
    while mount.is_alive() and time.monotonic() < end:
        time.sleep(0.01)
    mount.kill()
