# SPDX-License-Identifier: Apache-2.0
"""`forebay bench door`: its row on a small file, for real, and with drivers that differ."""

import contextlib
import itertools
import json
from types import SimpleNamespace

import pytest

from forebay import emufs_mount, hdf5_driver
from forebay.benchmarks import door
from forebay.benchmarks.rows import Results, Setup
from forebay.errors import ForebayError


@pytest.fixture
def bench(monkeypatch, tmp_path):
    monkeypatch.setitem(door.ROWS, "quick", 64)
    monkeypatch.setattr(door, "ROUNDS", 1)
    return door.Bench(Results(set()), Setup(tmp_path, "quick", lambda progress: None))


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
