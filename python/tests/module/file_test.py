# SPDX-License-Identifier: Apache-2.0
"""Libraries that read file objects read through Forebay."""

import io

import h5py
import numpy as np
import pandas as pd
import pytest

import forebay


@pytest.fixture
def runtime():
    with forebay.Runtime() as opened:
        yield opened


def test_numpy_loads_npy_and_npz(runtime, tmp_path):
    values = np.arange(10000.0).reshape(100, 100)
    np.save(tmp_path / "a.npy", values)
    np.savez(tmp_path / "b.npz", first=values, second=values.T)
    with runtime.open(tmp_path / "a.npy") as file:
        np.testing.assert_array_equal(np.load(file), values)
    with runtime.open(tmp_path / "b.npz") as file, np.load(file) as loaded:
        np.testing.assert_array_equal(loaded["second"], values.T)


def test_h5py_reads_a_hyperslab(runtime, tmp_path):
    values = np.arange(4096).reshape(64, 64)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["x"] = values
    with runtime.open(tmp_path / "a.h5") as raw, h5py.File(raw, "r") as file:
        np.testing.assert_array_equal(file["x"][3:60:7, 5:9], values[3:60:7, 5:9])


def test_pandas_reads_csv(runtime, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{n},{n * n}\n" for n in range(5000)))
    with runtime.open(tmp_path / "a.csv") as file:
        frame = pd.read_csv(file)
    assert frame["y"].tolist() == [n * n for n in range(5000)]


def test_text_layer_reads_lines(runtime, tmp_path):
    (tmp_path / "a.txt").write_text("first\nsecond\n")
    with io.TextIOWrapper(io.BufferedReader(runtime.open(tmp_path / "a.txt"))) as file:
        assert file.readlines() == ["first\n", "second\n"]


def test_reads_and_seeks_equal_those_of_a_plain_file(runtime, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(bytes(range(256)) * 50)
    rng = np.random.default_rng(7)
    with runtime.open(path) as ours, open(path, "rb", buffering=0) as plain:
        for _ in range(500):
            whence = int(rng.integers(3))
            at = int(rng.integers(0, 13000)) if whence == 0 else int(rng.integers(-200, 200))
            if whence == 1 and plain.tell() + at < 0:
                continue
            assert ours.seek(at, whence) == plain.seek(at, whence)
            count = int(rng.integers(-1, 400))
            assert ours.read(count) == plain.read(count)
            assert ours.tell() == plain.tell()


def test_readinto_of_an_array_without_elements_reads_nothing(runtime, tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    with runtime.open(tmp_path / "a") as file:
        assert file.readinto(np.empty((0, 3))) == 0
        assert (file.tell(), file.read()) == (0, b"abc")


def test_misuse_raises(runtime, tmp_path):
    (tmp_path / "a").write_bytes(b"abc")
    with pytest.raises(ValueError, match="for reading"):
        runtime.open(tmp_path / "a", mode="wb")
    with runtime.open(tmp_path / "a") as file:
        with pytest.raises(ValueError, match="before the start"):
            file.seek(-1)
        with pytest.raises(io.UnsupportedOperation):
            file.write(b"x")
    with pytest.raises(ValueError, match="closed"):
        file.read()
    file = runtime.open(tmp_path / "a")
    runtime.close()
    with pytest.raises(forebay.ClosedError):
        file.read()
