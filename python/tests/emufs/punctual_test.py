# SPDX-License-Identifier: Apache-2.0
"""`--punctual`: processors are kept from halting through the kernel's device for that; and where it
cannot be had, the mount works all the same and says what that means."""

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

# A request after the other, so that somebody waits nearly all the time.
READ_ON = """
import os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
while True:
    os.pread(file, 1, 0)
"""

# In mounts of its own: the device is a file there that nobody may write to, and read-ahead cannot
# be set. $1: an empty file, $2: emufs, $3: its machine, $4 and $5: backing folder and mount point.
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
    """What the strictest on this machine asks for."""
    with open(DEVICE, "rb") as device:
        return struct.unpack("i", device.read(4))[0]


@pytest.fixture
def device():
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        pytest.skip(f"{DEVICE} cannot be opened")


def test_processors_stay_awake_while_a_request_waits(device, emufs, slow, until):
    mount = emufs("--punctual", "--machine", slow)
    assert holds_device(mount)
    (mount.path / "a").write_bytes(b"x")
    command = [sys.executable, "-S", "-c", READ_ON, mount.path / "a"]
    with subprocess.Popen(command) as reader:
        until(lambda: least_demanded_us() == 0, "a demand that processors stay awake")
        reader.kill()
    assert mount.is_alive()


def test_without_the_option_nobody_asks_for_anything(emufs, slow):
    assert not holds_device(emufs("--machine", slow))
    assert not holds_device(emufs("--punctual", "--no-delay", "--machine", slow))


def test_where_the_device_cannot_be_opened_the_mount_works_and_says_so(can_mount, slow, tmp_path):
    empty, backing, point = tmp_path / "empty", tmp_path / "backing", tmp_path / "point"
    empty.touch()
    backing.mkdir()
    point.mkdir()
    words = [empty, native.find("forebay-emufs"), slow, backing, point]
    command = ["unshare", "--mount", "sh", "-c", WITHOUT_THE_DEVICE, "sh", *map(str, words)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if ran.returncode == 77:
        pytest.skip(f"{DEVICE} cannot be covered: {ran.stderr.strip()}")
    assert ran.returncode == 0, ran.stderr
    remark = json.loads(ran.stdout)["remark"]
    assert "answers may be late" in remark
    assert DEVICE in remark
    assert "read-ahead is the kernel's" in remark
    assert ran.stderr.startswith("written\n")
    assert (backing / "a").read_text(encoding="utf-8") == "written\n"
