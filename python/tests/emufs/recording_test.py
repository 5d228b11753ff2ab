# SPDX-License-Identifier: Apache-2.0
"""What a recording must not miss: changes that come with others, and those that are rare."""

import os

import pytest


@pytest.fixture
def recording(emufs, machine_file, tmp_path):
    """recording(*options) mounts; gives the mount and the file in which changes are kept."""

    def mount(*options):
        path = tmp_path / "changes"
        return emufs("--machine", machine_file("free"), "--record", path, *options), path

    return mount


def test_times_before_1970_come_back(recording, program, tmp_path):
    times = (-1_500_000_001, -1)
    mount, changes = recording()
    (mount.path / "old").write_bytes(b"1")
    os.utime(mount.path / "old", ns=times)
    program("replay", changes, tmp_path / "again")
    for folder in (mount.backing, tmp_path / "again"):
        status = os.stat(folder / "old")
        assert (status.st_atime_ns, status.st_mtime_ns) == times
