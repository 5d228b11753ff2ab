# SPDX-License-Identifier: Apache-2.0
"""`forebay calibrate` on a mount: files are striped by the machine, unlike on a local disk."""

import json
import os
import signal
import subprocess
import tomllib

import pytest

from forebay import native

PROGRAM = "forebay-calibrate"
FILE_BYTES = 4 << 20
# A bandwidth that does not bound reads of zero bytes.
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
sync_us = 30000
[metadata]
sync_us = 20000
"""


@pytest.fixture
def mount(emufs, tmp_path, real_native):
    real_native(PROGRAM)
    path = tmp_path / "long.toml"
    path.write_text(LONG_STRIPES, encoding="utf-8")
    return emufs("--no-sync", "--machine", path)


def command(mount, *args) -> list[str]:
    options = ["--dir", mount.path, "--name", "seen", "--bytes", FILE_BYTES, *args]
    return [str(native.find_program(PROGRAM)), *(str(word) for word in options)]


def test_a_file_shorter_than_a_stripe_is_not_read_beyond_its_end(mount):
    done = subprocess.run(command(mount, "--quick"), capture_output=True, text=True, timeout=80)
    assert done.returncode == 0, done.stderr
    machine = tomllib.loads(json.loads(done.stdout)["machine"])
    assert machine["servers"][0]["count"] == 4
    # Reads beyond the end return at once, which would give ten times that bandwidth.
    assert machine["servers"][0]["bandwidth_mb_per_s"] <= 150
    assert machine["client"].get("link_bandwidth_mb_per_s", 0) == 0, "only one server was read"
    # A busy machine adds to these times; the measured overhead of FUSE is subtracted.
    assert machine["servers"][0]["sync_us"] >= 15_000
    assert machine["metadata"]["sync_us"] >= 10_000
    assert os.listdir(mount.path) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_terminated_calibration_leaves_no_files(mount, until, number):
    with subprocess.Popen(command(mount), stdout=subprocess.DEVNULL) as process:
        try:
            until(lambda: os.listdir(mount.path), "the directory of a measurement")
            process.send_signal(number)
            assert process.wait(30) == 128 + number
        finally:
            process.kill()
    assert os.listdir(mount.path) == []
