# SPDX-License-Identifier: Apache-2.0
"""`--punctual` keeps processors from halting, by a device of the kernel. If that is not available,
the mount works nevertheless and reports the effect."""

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from forebay import native

DEVICE = "/dev/cpu_dma_latency"
LATENCY_US = 50_000

# One request after the other, so that a request waits nearly all the time.
READ_ON = """
import os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
while True:
    os.pread(file, 1, 0)
"""

# In a separate mount namespace: the device is a read-only file there, and readahead cannot be set.
# $1: an empty file, $2: emufs, $3: its machine, $4 and $5: backing directory and mount point.
WITHOUT_THE_DEVICE = f"""
mount --bind "$1" {DEVICE} && mount -o remount,ro,bind {DEVICE} || exit 77
mount -o remount,ro,bind /sys || exit 77
"$2" mount --punctual --machine "$3" "$4" "$5" || exit
echo written >"$5/a" && cat "$5/a" >&2
"$2" unmount "$5" >&2
"""


@pytest.fixture
def slow(machine_file):
    return machine_file("slow", page_cache="false", locks="none", latency_us=LATENCY_US)


def holds_device(mount) -> bool:
    folder = Path(f"/proc/{mount.pid}/fd")
    return any(os.readlink(entry) == DEVICE for entry in folder.iterdir())


def least_demanded_us() -> int:
    """The smallest latency that a process on this machine requests."""
    with open(DEVICE, "rb") as device:
        return struct.unpack("i", device.read(4))[0]


@pytest.fixture
def device():
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        pytest.skip(f"{DEVICE} cannot be opened")


def test_processors_do_not_halt_while_a_request_waits(device, emufs, slow, until):
    mount = emufs("--punctual", "--machine", slow)
    assert holds_device(mount)
    (mount.path / "a").write_bytes(b"x")
    command = [sys.executable, "-S", "-c", READ_ON, mount.path / "a"]
    with subprocess.Popen(command) as reader:
        until(lambda: least_demanded_us() == 0, "a request that processors do not halt")
        reader.kill()
    assert mount.is_alive()


def test_device_is_not_held_without_the_option(emufs, slow):
    assert not holds_device(emufs("--machine", slow))
    assert not holds_device(emufs("--punctual", "--no-delay", "--machine", slow))


def test_mount_works_without_the_device_and_reports_that(can_mount, slow, tmp_path):
    empty, backing, point = tmp_path / "empty", tmp_path / "backing", tmp_path / "point"
    empty.touch()
    backing.mkdir()
    point.mkdir()
    args = [empty, native.find_program("forebay-emufs"), slow, backing, point]
    command = ["unshare", "--mount", "sh", "-c", WITHOUT_THE_DEVICE, "sh", *map(str, args)]
    completed = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if completed.returncode == 77:
        pytest.skip(f"{DEVICE} cannot be covered: {completed.stderr.strip()}")
    assert completed.returncode == 0, completed.stderr
    warning = json.loads(completed.stdout)["warning"]
    assert "replies may be late" in warning
    assert DEVICE in warning
    assert "readahead is the kernel's" in warning
    assert completed.stderr.startswith("written\n")
    assert (backing / "a").read_text(encoding="utf-8") == "written\n"
