# SPDX-License-Identifier: Apache-2.0
"""Syncs on a mount take the time of the machine file, and share commits.

Times have lower bounds only, as a busy machine delays replies. The bounds are half of the machine
file's times: emufs subtracts the overhead of FUSE, which it measured when it mounted. Counters
check the rest.
"""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

FILE_US = 60_000
DIRECTORY_US = 40_000
FILE_S_MIN = 0.5e-6 * FILE_US
DIRECTORY_S_MIN = 0.5e-6 * DIRECTORY_US
MACHINE = f"""
format = 1
name = "syncs"
[layout]
stripe_bytes = "64 KiB"
stripe_count = 0
first_server = 0
[[servers]]
count = 2
latency_us = 100
concurrency = 4
bandwidth_mb_per_s = 0
sync_us = {FILE_US}
[metadata]
sync_us = {DIRECTORY_US}
"""


@pytest.fixture
def machine(tmp_path):
    path = tmp_path / "syncs.toml"
    path.write_text(MACHINE, encoding="utf-8")
    return path


@pytest.fixture
def mount(emufs, machine):
    return emufs("--no-sync", "--machine", machine)


def commits(mount) -> list[int]:
    rows = json.loads(os.getxattr(mount.path, "user.emufs.stat.servers.0"))
    return [row["commits"] for row in rows]


def create(mount, name: str, flags: int = 0) -> int:
    return os.open(mount.path / name, os.O_CREAT | os.O_WRONLY | flags)


def seconds_of(action, *args) -> float:
    begin = time.monotonic()
    action(*args)
    return time.monotonic() - begin


@pytest.mark.parametrize("sync", [os.fsync, os.fdatasync])
def test_sync_takes_the_time_of_servers_with_new_data(mount, sync):
    file = create(mount, "a")
    os.pwrite(file, b"x" * 4096, 0)
    assert seconds_of(sync, file) >= FILE_S_MIN
    assert commits(mount) == [1, 0]
    os.pwrite(file, b"x" * 131072, 0)
    assert seconds_of(sync, file) >= FILE_S_MIN
    assert commits(mount) == [2, 1]
    sync(file)
    assert commits(mount) == [2, 1], "nothing was written"
    os.close(file)


def test_syncs_that_wait_share_a_commit(mount, until):
    files = [create(mount, f"file-{i}") for i in range(6)]
    for file in files:
        os.pwrite(file, b"x", 0)
    mount.command(kind="server", number=0, state="stall")
    with ThreadPoolExecutor(len(files)) as pool:
        done = [pool.submit(os.fsync, file) for file in files]
        until(lambda: mount.stat()["totals"]["under_way"] == len(files), "all syncs")
        mount.command(kind="server", number=0)
        for one in done:
            one.result()
    rows = json.loads(os.getxattr(mount.path, "user.emufs.stat.servers.0"))
    assert (rows[0]["syncs"], rows[0]["commits"]) == (len(files), 1)
    for file in files:
        os.close(file)


@pytest.mark.parametrize("flag", [os.O_DSYNC, os.O_SYNC])
def test_durable_write_includes_a_sync(mount, flag):
    file = create(mount, "a", flag)
    assert seconds_of(os.pwrite, file, b"x", 0) >= FILE_S_MIN
    assert commits(mount) == [1, 0]
    os.fsync(file)
    assert commits(mount) == [1, 0], "the write was durable"
    os.close(file)


def test_sync_of_a_directory_takes_the_time_of_a_metadata_server(mount):
    folder = os.open(mount.path, os.O_RDONLY)
    before = mount.stat()["totals"]["name_operations"]
    assert seconds_of(os.fsync, folder) >= DIRECTORY_S_MIN
    assert mount.stat()["totals"]["name_operations"] == before + 1
    os.close(folder)


def test_sync_without_delays_makes_no_commit(emufs, machine):
    mount = emufs("--no-delay", "--machine", machine)
    file = create(mount, "a")
    os.pwrite(file, b"x", 0)
    os.fsync(file)
    assert commits(mount) == [0, 0]
    os.close(file)
