# SPDX-License-Identifier: Apache-2.0
"""Calibrating: the name of the machine, the file that is written, and what is shown."""

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
def test_a_machine_is_named_as_the_format_asks(name, output, folder, expected):
    assert machine_name(name, output, folder) == expected


def test_a_name_that_no_machine_may_have_is_refused():
    with pytest.raises(ForebayError, match="lower case"):
        machine_name("My Disk", None, "/scratch")


def test_the_machine_file_is_written_and_numbers_are_shown(forebay, answers, tmp_path):
    answers("forebay-calibrate", DOCUMENT)
    target, picture = tmp_path / "here.toml", tmp_path / "here.png"
    ran = forebay("calibrate", tmp_path, "-o", target, "--plot", picture)
    assert ran.code == 0, ran.err
    assert target.read_text() == MACHINE
    assert picture.stat().st_size > 10_000
    assert "74.6" in ran.out
    assert "60.0 MB/s" in ran.out
    assert "locks" not in ran.out


def test_without_an_output_it_goes_where_programs_look(forebay, answers, tmp_path, monkeypatch):
    answers("forebay-calibrate", DOCUMENT)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    ran = forebay("calibrate", tmp_path, "--name", "here")
    assert ran.code == 0, ran.err
    target = tmp_path / "config/forebay/machines/here.toml"
    assert target.read_text() == MACHINE
    assert str(target) in ran.out.replace("\n", "")
    assert not list(tmp_path.glob("*.toml"))


def test_an_output_that_is_no_machine_file_is_refused_before_anything_is_measured(
    forebay, tmp_path
):
    ran = forebay("calibrate", tmp_path, "-o", tmp_path / "here.txt")
    assert ran.code == 2
    assert ".toml" in ran.err


@pytest.mark.skipif(not native.is_there("forebay-calibrate"), reason="not built")
def test_a_real_storage_is_measured_and_nothing_stays(forebay, tmp_path):
    target = tmp_path / "real.toml"
    folder = tmp_path / "data"
    folder.mkdir()
    ran = forebay("calibrate", folder, "-o", target, "--size-mib", "4", "--quick", "--json", "-")
    if ran.code != 0 and "direct" in ran.err:
        pytest.skip(f"no direct access here: {ran.err}")
    assert ran.code == 0, ran.err
    machine = tomllib.loads(target.read_text())
    assert machine["servers"][0]["latency_us"] >= 0
    assert machine["servers"][0]["bandwidth_mb_per_s"] > 0
    assert ran.json["machine"] == target.read_text()
    assert list(folder.iterdir()) == []
