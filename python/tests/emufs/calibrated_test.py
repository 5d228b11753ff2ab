# SPDX-License-Identifier: Apache-2.0
"""Calibrating a mount: the file is cut as the machine says, which a local disk cannot show."""

import json
import os
import signal
import subprocess
import tomllib

import pytest

from forebay import native

PROGRAM = "forebay-calibrate"
FILE_BYTES = 4 << 20
# A bandwidth that no read of nothing is bound by.
LONG_STRIPES = """
format = 1
name = "long"
[client]
page_cache = false
[layout]
stripe_bytes = "1 GiB"
[[servers]]
count = 4
latency_us = 100
concurrency = 4
bandwidth_mb_per_s = 100
"""


@pytest.fixture
def mount(emufs, tmp_path, real_native):
    real_native(PROGRAM)
    path = tmp_path / "long.toml"
    path.write_text(LONG_STRIPES, encoding="utf-8")
    return emufs("--no-sync", "--machine", path)


def command(mount, *words) -> list[str]:
    options = ["--dir", mount.path, "--name", "seen", "--bytes", FILE_BYTES, *words]
    return [str(native.find(PROGRAM)), *(str(word) for word in options)]


def test_a_file_shorter_than_a_stripe_is_not_read_beyond_its_end(mount):
    done = subprocess.run(command(mount, "--quick"), capture_output=True, text=True, timeout=80)
    assert done.returncode == 0, done.stderr
    machine = tomllib.loads(json.loads(done.stdout)["machine"])
    assert machine["servers"][0]["count"] == 4
    # What was read beyond the end was answered at once: ten times that.
    assert machine["servers"][0]["bandwidth_mb_per_s"] <= 150
    assert machine["client"].get("link_bandwidth_mb_per_s", 0) == 0, "no server but one was asked"
    assert os.listdir(mount.path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_that_is_ended_half_way_leaves_nothing(mount, until, number):
    with subprocess.Popen(command(mount), stdout=subprocess.DEVNULL) as process:
        try:
            until(lambda: os.listdir(mount.path), "the folder of a measurement")
            process.send_signal(number)
            assert process.wait(30) == 128 + number
        finally:
            process.kill()
    assert os.listdir(mount.path) == []
