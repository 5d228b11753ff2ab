# SPDX-License-Identifier: Apache-2.0
"""`forebay calibrate`: the name of the machine, the written file, and the printed results."""

import tomllib

import pytest

from forebay import native
from forebay.cli.calibrate import machine_name
from forebay.errors import ForebayError

MACHINE = 'format = 1\nname = "here"\n'


def load(depth, value):
    row = {"depth": depth, "request_bytes": 4096, "bytes_per_second": value}
    return [
        row | {"low": value * 0.9, "high": value * 1.1, "model": value},
        row
        | {"request_bytes": 1 << 20, "low": value * 0.9, "high": value * 1.1, "model": value * 2},
    ]


DOCUMENT = {
    "machine": MACHINE,
    "values": [
        {"key": "servers.0.latency_us", "value": "74.6", "source": "measured: one at a time"},
        {"key": "servers.0.sync_us", "value": "812.5", "source": "measured: fsync"},
        {"key": "locks.unit", "value": '"none"', "source": "not measured"},
    ],
    "read": load(1, 6e7) + load(2, 9e7),
    "write": load(1, 3e7) + load(2, 5e7),
}


@pytest.mark.parametrize(
    ("name", "output", "folder", "expected"),
    [
        ("mine", None, "/scratch", "mine"),
        (None, "out/My Disk.toml", "/scratch", "my-disk"),
        (None, None, "/scratch", "scratch"),
        (None, None, "/", "storage"),
    ],
)
def test_machine_name_follows_the_format(name, output, folder, expected):
    assert machine_name(name, output, folder) == expected


def test_invalid_machine_name_is_refused():
    with pytest.raises(ForebayError, match="lower case"):
        machine_name("My Disk", None, "/scratch")


def test_machine_file_is_written_and_numbers_are_printed(forebay, fake_program, tmp_path):
    fake_program("forebay-calibrate", DOCUMENT)
    target, picture = tmp_path / "here.toml", tmp_path / "here.png"
    completed = forebay("calibrate", tmp_path, "-o", target, "--plot", picture)
    assert completed.code == 0, completed.err
    assert target.read_text() == MACHINE
    assert picture.stat().st_size > 10_000
    assert "74.6" in completed.out
    assert "812.5" in completed.out
    assert "60.0 MB/s" in completed.out
    assert "locks" not in completed.out


def test_default_output_is_the_users_machine_directory(
    forebay, fake_program, tmp_path, monkeypatch
):
    fake_program("forebay-calibrate", DOCUMENT)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    completed = forebay("calibrate", tmp_path, "--name", "here")
    assert completed.code == 0, completed.err
    target = tmp_path / "config/forebay/machines/here.toml"
    assert target.read_text() == MACHINE
    assert str(target) in completed.out.replace("\n", "")
    assert not list(tmp_path.glob("*.toml"))


def test_output_with_another_suffix_is_refused_before_measuring(forebay, tmp_path):
    completed = forebay("calibrate", tmp_path, "-o", tmp_path / "here.txt")
    assert completed.code == 2
    assert ".toml" in completed.err


@pytest.mark.skipif(not native.is_built("forebay-calibrate"), reason="not built")
def test_real_storage_is_measured_and_no_file_is_left(forebay, tmp_path):
    target = tmp_path / "real.toml"
    folder = tmp_path / "data"
    folder.mkdir()
    completed = forebay(
        "calibrate", folder, "-o", target, "--size-mib", "4", "--quick", "--json", "-"
    )
    if completed.code != 0 and "direct" in completed.err:
        pytest.skip(f"no direct access here: {completed.err}")
    assert completed.code == 0, completed.err
    machine = tomllib.loads(target.read_text())
    assert machine["servers"][0]["latency_us"] >= 0
    assert machine["servers"][0]["bandwidth_mb_per_s"] > 0
    assert machine["servers"][0]["sync_us"] >= 0
    assert "fsync after 4096 bytes" in machine["sources"]["servers.sync_us"]
    assert "4 MiB" in machine["sources"]["servers.sync_us"]
    assert completed.json["machine"] == target.read_text()
    assert list(folder.iterdir()) == []
