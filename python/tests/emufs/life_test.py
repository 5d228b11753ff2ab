# SPDX-License-Identifier: Apache-2.0
"""From mounting to unmounting where somebody is in the way: servers that stall, programs that hold
on, mounts of others at the same place. Nothing hangs, and nobody else's mount is touched."""

import errno
import os
import subprocess

import pytest

from forebay import native

REQUEST = 65536


def refusal(program, *words) -> str:
    return program("mount", *words, code=1)["message"]


def is_mounted(path) -> bool:
    return any(line.split()[1] == str(path) for line in open("/proc/mounts", encoding="utf-8"))


@pytest.fixture
def places(tmp_path):
    """A backing folder, and a mount point for it."""
    backing, point = tmp_path / "backing", tmp_path / "point"
    backing.mkdir()
    point.mkdir()
    yield backing, point
    subprocess.run(["umount", "-q", "-l", point], capture_output=True, timeout=30)


def test_a_slowness_beyond_the_models_is_refused(emufs, machine_file):
    mount = emufs("--machine", machine_file("free"))
    for slowness in (2e6, 1e300, -1.0):
        with pytest.raises(OSError) as failed:
            mount.command(kind="server", number=0, slowness=slowness)
        assert failed.value.errno == errno.EINVAL
    mount.command(kind="server", number=0, slowness=1e6)
    assert mount.is_alive()


def test_the_command_line_knows_the_largest_slowness(emufs, machine_file, forebay):
    mount = emufs("--machine", machine_file("free"))
    ran = forebay("emufs", "fault", "server", mount.path, 0, "--slow", 2_000_000)
    assert (ran.code, "--slow" in ran.err) == (2, True)
    assert mount.is_alive()


def test_in_the_background_it_holds_nothing_of_its_caller(places, program):
    """A pipe on a descriptor that the shell handed down ends when the command does."""
    backing, point = places
    reading, writing = os.pipe()
    words = [native.find("forebay-emufs"), "mount", backing, point]
    with open(reading, "rb") as pipe:
        try:
            done = subprocess.run(words, pass_fds=[writing], capture_output=True, timeout=60)
        finally:
            os.close(writing)
        assert done.returncode == 0, done.stderr
        os.set_blocking(pipe.fileno(), False)
        assert pipe.read() == b""
    program("unmount", point)
