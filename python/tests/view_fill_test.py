# SPDX-License-Identifier: Apache-2.0
"""Views of steps that lack a field show its `fill_value`, or exclude the field."""

import numpy
import pytest

from forebay.view import hdf5 as hdf5_view
from forebay.view import zarr_references
from forebay.view.places import Block, Step, StepField

h5py = pytest.importorskip("h5py", reason="h5py is not installed")
zarr = pytest.importorskip("zarr", reason="zarr is not installed")


def sparse_steps(folder, dtype="<f4", fill=None):
    """Of three steps, only the first one has the field u."""
    numpy.arange(12).astype(dtype).tofile(folder / "data")
    size = numpy.dtype(dtype).itemsize
    path = str(folder / "data")
    boxes = [Block((i,), (1,), ((path, size * i, size),)) for i in range(12)]
    head = {"name": "u", "node": "u", "dtype": dtype, "kind": "global", "shape": [12],
            "attributes": [fill] if fill else []}  # fmt: skip
    fields = {"u": StepField(head, boxes=boxes)}
    return [Step(i, [], [], fields if i == 0 else {}) for i in range(3)]


def write_both(steps, folder):
    """The field u as HDF5 and Zarr show it, None if it is excluded, and what is excluded."""
    documents = [
        hdf5_view.write(str(folder), steps, [], str(folder / "view.h5")),
        zarr_references.write_parquet(steps, [], str(folder / "view.parq")),
    ]
    where = {"fo": str(folder / "view.parq"), "remote_protocol": "file"}
    where["skip_instance_cache"] = True
    root = zarr.open_group("reference://", mode="r", zarr_format=2, storage_options=where)
    with h5py.File(folder / "view.h5") as view:
        arrays = [one["u"][...] if "u" in one else None for one in (view, root)]
    return arrays, [one["excluded"] for one in documents]


def test_newest_steps_may_lack_a_field(tmp_path, monkeypatch):
    for record_chunks in (10_000, 5):
        monkeypatch.setattr(zarr_references, "RECORD_CHUNKS", record_chunks)
        arrays, _excluded = write_both(sparse_steps(tmp_path), tmp_path)
        for array in arrays:
            assert array.tolist() == [list(range(12)), [0] * 12, [0] * 12]


def fill_value(kind, *value, shape=()):
    kinds = {"kind": "text"} if kind == "text" else {"kind": "numbers", "type": kind}
    return {"name": "fill_value", "shape": list(shape), "value": list(value)} | kinds


@pytest.mark.parametrize(
    ("dtype", "fill", "expected_value"),
    [
        ("<i4", fill_value("float64", -1.0), -1),
        ("<u8", fill_value("uint64", 2**64 - 1), 2**64 - 1),
        (">i8", fill_value("int64", -(2**63)), -(2**63)),
        ("<f4", fill_value("float64", 0.1), numpy.float32(0.1)),
        ("<f8", fill_value("float32", "-inf"), -numpy.inf),
        ("<f2", fill_value("float64", "nan"), numpy.nan),
        ("<c8", fill_value("complex128", 1.5, "nan"), complex(1.5, numpy.nan)),
        (">c16", fill_value("int8", 3), 3),
    ],
)
def test_fill_value_is_that_of_elements_in_no_block(tmp_path, dtype, fill, expected_value):
    arrays, excluded = write_both(sparse_steps(tmp_path, dtype, fill), tmp_path)
    assert excluded == [[], []]
    for array in arrays:
        assert array.dtype == dtype
        expected_values = numpy.full((2, 12), expected_value, dtype)
        assert numpy.array_equal(array[1:].real, expected_values.real, equal_nan=True)
        assert numpy.array_equal(array[1:].imag, expected_values.imag, equal_nan=True)


@pytest.mark.parametrize(
    ("dtype", "fill"),
    [
        ("<f4", fill_value("float64", 1.0, 2.0, shape=(2,))),
        ("<f4", fill_value("text", "missing")),
        ("<f4", fill_value("complex128", 1.0, 2.0)),
        ("<f4", fill_value("float64", 1e300)),
        ("<i4", fill_value("float64", "nan")),
        ("<i4", fill_value("float64", 0.5)),
        ("|i1", fill_value("int64", 128)),
        ("<u4", fill_value("int32", -1)),
    ],
)
def test_fill_value_that_the_type_lacks_excludes_the_field(tmp_path, dtype, fill):
    steps = sparse_steps(tmp_path, dtype, fill)
    arrays, documents = write_both(steps, tmp_path)
    assert arrays == [None, None]
    for (excluded,) in documents:
        assert (excluded["step"], excluded["field"]) == (None, "u")
        assert f"is no number of the type {dtype}" in excluded["cause"]
    (complete,) = steps[:1]
    arrays, documents = write_both([complete], tmp_path)
    assert documents == [[], []]
    assert all(array[0].tolist() == list(range(12)) for array in arrays)
