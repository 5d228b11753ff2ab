# SPDX-License-Identifier: Apache-2.0
"""Cube profiles on failing storage: files that `remap` and `generate` leave when they are killed
while storage stalls, when storage fails, and when a real disk is full."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from forebay import native

# Longer than the memory of streams, so that none ends before its first write.
THREADS = 2000

# In a separate mount namespace. $1: an image, $2: a directory; the rest: a program that writes
# out.cubex there.
ON_A_SMALL_DISK = """
mkfs.ext4 -q -F "$1" && mount -o loop "$1" "$2" || exit 77
cd "$2" && rmdir lost+found && printf "as it was" >out.cubex || exit 77
shift 2
"$@" >/dev/null
echo "$?:$(ls):$(head -c 100 out.cubex)"
"""


@pytest.fixture
def cube(real_native):
    """cube(*args, code=0) runs forebay-cube; returns its document, or its error."""
    path = native.find_program(real_native("forebay-cube"))

    def run(*args, code=0) -> dict:
        command = [str(word) for word in (path, *args)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=90)
        assert done.returncode == code, done.stderr
        return json.loads(done.stdout) if code == 0 else json.loads(done.stderr)["error"]

    run.path = path
    return run


@pytest.fixture
def profile(cube, tmp_path) -> Path:
    path = tmp_path / "in.cubex"
    cube("generate", path, "--threads", THREADS)
    return path


@pytest.fixture
def mount(emufs, machine_file):
    return emufs("--machine", machine_file("free"))


@pytest.fixture(params=[[], ["--compress"]], ids=["plain", "compressed"])
def remap(request, profile):
    """The arguments before the name of a copy of the profile."""
    return ["remap", profile, "--no-spec", *request.param, "--output"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def set_server_state(mount, state):
    for number in range(4):
        mount.command(kind="server", number=number, state=state)


@pytest.fixture
def kill_during_write(mount, cube, until):
    """run(*args) kills the command while storage stalls its first writes."""

    def run(*args):
        command = [str(word) for word in (cube.path, *args)]
        set_server_state(mount, "stall")
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            until(lambda: mount.stat()["totals"]["under_way"] > 0, "a write that waits")
            process.send_signal(signal.SIGKILL)
            # The kernel may keep the process until its writes have replies. It runs no more.
            set_server_state(mount, "works")
            assert process.wait(60) == -signal.SIGKILL

    return run


def has_only_temporary(names: list[str]) -> bool:
    """Whether a killed run left its temporary file, and nothing else."""
    return len(names) == 1 and names[0].startswith("out.cubex.tmp-")


def test_remap_killed_while_draining_leaves_no_file(mount, remap, kill_during_write):
    kill_during_write(*remap, mount.path / "out.cubex")
    assert has_only_temporary(names(mount.path))


def test_remap_killed_while_draining_leaves_the_file_as_it_was(
    cube, profile, mount, remap, kill_during_write
):
    out = mount.path / "out.cubex"
    out.write_bytes(b"as it was")
    kill_during_write(*remap, out)
    first, *others = names(mount.path)
    assert first == "out.cubex" and has_only_temporary(others)
    assert out.read_bytes() == b"as it was"
    cube(*remap, out)
    assert names(mount.path) == [first, *others]
    assert cube("diff", profile, out)["ok"]


def test_generate_killed_while_it_writes_leaves_the_file_as_it_was(
    cube, profile, mount, kill_during_write
):
    out = mount.path / "out.cubex"
    out.write_bytes(b"as it was")
    command = ["generate", out, "--threads", THREADS]
    kill_during_write(*command)
    assert out.read_bytes() == b"as it was"
    first, *others = names(mount.path)
    assert first == "out.cubex" and has_only_temporary(others)
    cube(*command)
    assert names(mount.path) == [first, *others]
    assert cube("diff", profile, out)["ok"]


def test_a_broken_storage_is_an_error_with_path_and_offset(cube, mount, remap, until):
    out = mount.path / "out.cubex"
    out.write_bytes(b"as it was")
    command = [str(word) for word in (cube.path, *remap, out)]
    set_server_state(mount, "stall")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        until(lambda: mount.stat()["totals"]["under_way"] > 0, "a write that waits")
        _, half = names(mount.path)
        mount.command(kind="eio", path=half, offset=0, size=1 << 40, on="write")
        set_server_state(mount, "works")
        error = json.loads(process.communicate(timeout=90)[1].splitlines()[-1])["error"]
    assert error["class"] == "io"
    assert error["path"].startswith(f"{out}.tmp-")
    assert error["offset"] >= 0
    assert "EIO" in error["message"]
    assert names(mount.path) == ["out.cubex"]
    assert out.read_bytes() == b"as it was"


def test_a_full_disk_leaves_the_old_file(cube, remap, tmp_path):
    image, point = tmp_path / "image", tmp_path / "point"
    point.mkdir()
    image.touch()
    os.truncate(image, 2 << 20)
    command = ["unshare", "--mount", "sh", "-c", ON_A_SMALL_DISK, "sh", image, point, cube.path]
    done = subprocess.run(
        [str(word) for word in (*command, *remap, "out.cubex")],
        capture_output=True,
        text=True,
        timeout=90,
    )
    if done.returncode == 77:
        pytest.skip(f"no file system can be made and mounted: {done.stderr.strip()}")
    assert done.stdout.splitlines() == ["1:out.cubex:as it was"], done.stderr
    error = json.loads(done.stderr.splitlines()[-1])["error"]
    assert error["class"] == "no-space"
    assert error["path"].startswith("out.cubex.tmp-")
    assert "offset" in error
