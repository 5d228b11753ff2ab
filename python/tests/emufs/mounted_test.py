# SPDX-License-Identifier: Apache-2.0
"""A storage for as long as a `with` lasts, with real mounts: whatever ends it, nothing stays."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from forebay.mounted import mounted

LIMIT_S = 60
HOLDER = """
import sys
from pathlib import Path
from forebay.mounted import mounted
with mounted("local", Path(sys.argv[1])) as point:
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
def ends(can_mount, tmp_path):
    """Whatever a test leaves mounted is taken away."""
    yield
    for point in points_in(tmp_path):
        subprocess.run(["umount", "-l", point], capture_output=True, timeout=30)


def test_it_is_there_in_the_block_and_gone_after_it(tmp_path):
    with mounted("lustre-small", tmp_path) as point:
        assert is_mounted(point)
        (point / "a").write_bytes(b"bytes")
        assert os.getxattr(point, "user.emufs.stat").startswith(b"{")
    assert not is_mounted(point)
    assert list(tmp_path.iterdir()) == []


def test_an_error_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), mounted("local", tmp_path) as point:
        (point / "a").write_bytes(b"bytes")
        raise ZeroDivisionError
    assert not is_mounted(point)
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def holder(tmp_path, environment):
    """A program that keeps a storage mounted, with a file of it open."""
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


def test_who_is_killed_leaves_no_mount_and_the_next_one_cleans_up(holder, until, tmp_path):
    (point,) = points_in(tmp_path)
    holder.kill()
    holder.wait()
    until(lambda: not is_mounted(point), "the end of a mount without its program")
    with mounted("local", tmp_path) as again:
        assert points_in(tmp_path) == [again]
        assert again != point
        assert list(again.iterdir()) == []


def test_what_a_killed_emufs_leaves_is_cleaned_up(holder, tmp_path):
    (point,) = points_in(tmp_path)
    children = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text(encoding="ascii")
    for child in children.split():
        os.kill(int(child), signal.SIGKILL)
    _, err = holder.communicate("", timeout=LIMIT_S)
    assert holder.returncode == 0, err
    assert not is_mounted(point)
    assert list(tmp_path.iterdir()) == []
