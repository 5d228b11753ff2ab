# SPDX-License-Identifier: Apache-2.0
"""`forebay bench door`: its row on a small file, for real, and with drivers that differ."""

import contextlib
import itertools
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from forebay import emufs_mount, hdf5_driver
from forebay.benchmarks import door, door_inplace
from forebay.benchmarks.rows import Results, Setup
from forebay.errors import ForebayError


@pytest.fixture
def bench(monkeypatch, tmp_path):
    monkeypatch.setitem(door.ROWS, "quick", 64)
    monkeypatch.setattr(door, "ROUNDS", 1)
    return door.Bench(Results({door.VFD}), Setup(tmp_path, "quick", lambda progress: None))


def test_rows_of_the_command_line_are_times_of_both_commands(bench, real_tools, monkeypatch):
    pytest.importorskip("_forebay", reason="the module is not built")
    monkeypatch.setattr(sys, "argv", [str(Path(sys.executable).with_name("forebay"))])
    monkeypatch.setattr(door, "CLI_ROUNDS", 1)
    monkeypatch.setattr(door, "CLI_STEPS", 3)
    bench.results.only = set(door.CLI_GOALS)
    bench.run()
    assert [row["id"] for row in bench.results.rows] == list(door.CLI_GOALS)
    assert all(row["value"] > 0 and row["unit"] == "ms" for row in bench.results.rows)


def test_row_has_the_ratio_of_both_drivers(bench, real_native):
    if reason := emufs_mount.unavailable_reason():
        pytest.skip(reason)
    real_native(emufs_mount.PROGRAM)
    bench.run()
    [row] = bench.results.rows
    times = {name: peer["value"] for name, peer in row["peers"].items()}
    assert row["value"] == pytest.approx(times["default"] / times["forebay"])


def test_drivers_that_read_different_values_are_a_failure(bench, monkeypatch, tmp_path):
    @contextlib.contextmanager
    def storage(*_):
        yield SimpleNamespace(path=tmp_path, backing=tmp_path, drop_caches=lambda: None)

    digests = itertools.count()

    def run_python(text, *arguments, environment=None):
        (tmp_path / "matrix.h5").touch()
        return json.dumps({"seconds": 1.0, "values": str(next(digests))})

    monkeypatch.setattr(emufs_mount, "mounted_storage", storage)
    monkeypatch.setattr(hdf5_driver, "environment", dict)
    monkeypatch.setattr(door, "run_python", run_python)
    with pytest.raises(ForebayError, match="different values"):
        bench.run()


@pytest.fixture
def inplace(tmp_path, real_tools):
    pytest.importorskip("_forebay", reason="the Python module is not built: run make build")
    return door_inplace.Bench(Results(set()), Setup(tmp_path, "quick", lambda progress: None))


def test_view_of_all_types_copies_nothing(inplace):
    inplace.run()
    assert inplace.results.skipped == {}
    [row] = inplace.results.rows
    assert (row["value"], row["met"]) == (0, True)
    items = sum((1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16))
    assert row["peers"]["shown"]["value"] == 2 * items * (16**3 + 3 * 137)


def test_elements_in_the_view_itself_are_copied_bytes(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    with h5py.File(tmp_path / "own.h5", "w") as file:
        assert door_inplace.copied_bytes(file.create_dataset("x", data=[1.0, 2.0])) == 16


def test_view_of_other_values_is_a_failure(inplace, monkeypatch):
    values = inplace._values
    monkeypatch.setattr(inplace, "_compare", lambda file: door_inplace.Bench._compare(other, file))
    other = door_inplace.Bench(inplace.results, Setup(inplace.folder, "quick", lambda _: None))
    monkeypatch.setattr(other, "_values", lambda dtype, step, shape: values(dtype, step + 1, shape))
    with pytest.raises(ForebayError, match="other values of"):
        inplace.run()
