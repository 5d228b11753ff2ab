# SPDX-License-Identifier: Apache-2.0
"""mount_machine() with real mounts: no mount and no file remains, however the block ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from forebay.emufs_mount import mount_machine

LIMIT_S = 60
HOLDER = """
import sys
from pathlib import Path
from forebay.emufs_mount import mount_machine
with mount_machine("local", Path(sys.argv[1])) as point:
    (point / "a").write_bytes(b"x" * 100_000)
    busy = open(point / "a", "rb")
    print(point, flush=True)
    sys.stdin.read()
"""


def is_mounted(path) -> bool:
    lines = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    return any(line.split()[1] == str(path) for line in lines)


def points_in(folder) -> list[Path]:
    return [place / "mount" for place in folder.glob(".forebay-emufs-*")]


@pytest.fixture(autouse=True)
def unmount_after(can_mount, tmp_path):
    """Unmounts what a test has left mounted."""
    yield
    for point in points_in(tmp_path):
        subprocess.run(["umount", "-l", point], capture_output=True, timeout=30)


def test_storage_is_mounted_in_the_block_and_removed_after_it(tmp_path):
    with mount_machine("lustre-small", tmp_path) as point:
        assert is_mounted(point)
        (point / "a").write_bytes(b"bytes")
        assert os.getxattr(point, "user.emufs.stat").startswith(b"{")
    assert not is_mounted(point)
    assert list(tmp_path.iterdir()) == []


def test_an_error_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), mount_machine("local", tmp_path) as point:
        (point / "a").write_bytes(b"bytes")
        raise ZeroDivisionError
    assert not is_mounted(point)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def holder(tmp_path, environment):
    """A program that holds a storage mounted, with a file on it open."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path], env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    point = Path(process.stdout.readline().strip())
    assert points_in(tmp_path) == [point]
    yield process
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()


def test_an_interrupt_leaves_nothing(holder, tmp_path):
    (point,) = points_in(tmp_path)
    holder.send_signal(signal.SIGINT)
    holder.wait(LIMIT_S)
    assert not is_mounted(point)
    assert list(tmp_path.iterdir()) == []


def test_killed_process_leaves_no_mount_and_the_next_run_cleans_up(holder, until, tmp_path):
    (point,) = points_in(tmp_path)
    holder.kill()
    holder.wait()
    until(lambda: not is_mounted(point), "the end of a mount without its program")
    with mount_machine("local", tmp_path) as again:
        assert points_in(tmp_path) == [again]
        assert again != point
        assert list(again.iterdir()) == []


def test_mount_of_a_killed_emufs_is_cleaned_up(holder, tmp_path):
    (point,) = points_in(tmp_path)
    children = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text(encoding="ascii")
    for child in children.split():
        os.kill(int(child), signal.SIGKILL)
    _, err = holder.communicate("", timeout=LIMIT_S)
    assert holder.returncode == 0, err
    assert not is_mounted(point)
    assert list(tmp_path.iterdir()) == []
