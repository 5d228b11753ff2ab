# SPDX-License-Identifier: Apache-2.0
"""Independent programs read datasets: zarr and xarray in place, h5py from a copy."""

import errno
import json
import os

import numpy
import pytest
from sample_values import TYPES, UNICODE, expected, patterned

from forebay import hdf5_copy
from forebay.errors import NativeError

CELLS = numpy.arange(48, dtype="i4").reshape(6, 8)
ZSTD_PIECE = 2**20


@pytest.fixture
def opened(tmp_path, forebay):
    """opened(dataset, options) exports references; returns them as a group of zarr."""
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")

    def make(dataset, *options):
        file = tmp_path / "refs.json"
        completed = forebay("export", dataset, "--kerchunk", file, *options)
        assert completed.code == 0, completed.err
        system = fsspec.filesystem(
            "reference",
            fo=str(file),
            remote_protocol="file",
            asynchronous=True,
            skip_instance_cache=True,  # another test's file of the same name
        )
        store = zarr.storage.FsspecStore(system, read_only=True)
        return zarr.open_group(store, mode="r", zarr_format=2)

    return make


@pytest.fixture
def copied(tmp_path, forebay):
    """copied(dataset, options) exports a copy; returns the open HDF5 file."""
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")

    def make(dataset, *options):
        file = tmp_path / "out.h5"
        completed = forebay("export", dataset, "--hdf5", file, *options)
        assert completed.code == 0, completed.err
        return h5py.File(file)

    return make


@pytest.mark.parametrize("reader", ["opened", "copied"])
@pytest.mark.parametrize(("options", "step"), [((), 30), (("--step", 10), 10)])
def test_parts_are_the_same(samples, request, reader, options, step):
    root = request.getfixturevalue(reader)(samples / "run.fb", *options)
    assert root.attrs["step"] == step
    for part in range(5):
        pressure, velocity = root[f"pressure/{part}"], root[f"velocity/{part}"]
        assert (str(pressure.dtype), str(velocity.dtype)) == ("float64", "float32")
        assert numpy.array_equal(pressure[:], expected(step, part, "f8", 1))
        assert numpy.array_equal(velocity[:], expected(step, part, "f4", 2))


def test_parts_of_a_field_can_be_listed(samples, forebay, tmp_path):
    """xarray lists them. Each name of a dimension has one size."""
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    file = tmp_path / "refs.json"
    assert forebay("export", samples / "run.fb", "--kerchunk", file).code == 0
    settings = {"fo": str(file), "remote_protocol": "file", "skip_instance_cache": True}
    root = zarr.open_group("reference://", mode="r", zarr_format=2, storage_options=settings)
    group = root["velocity"]
    assert sorted(group.keys()) == ["0", "1", "2", "3", "4"]
    sizes = {}
    for name, array in group.arrays():
        for dimension, size in zip(array.attrs["_ARRAY_DIMENSIONS"], array.shape, strict=True):
            assert sizes.setdefault(dimension, size) == size, name


SHAPES = {1: {0: (2, 3), 1: (0, 3), 2: (1, 3)}, 2: {0: (200, 3), 1: (0, 3), 2: (1, 3)}}


def expect_same(array, values):
    assert (array.shape, array.dtype) == (values.shape, values.dtype), array
    assert numpy.array_equal(array[...], values), array


@pytest.mark.parametrize("reader", ["opened", "copied"])
@pytest.mark.parametrize("step", SHAPES)
def test_all_types_are_the_same(samples, request, reader, step):
    root = request.getfixturevalue(reader)(samples / "types.fb", "--step", step)
    for name in TYPES:
        for ending, order in (("", "<"), (" big", ">")):
            for part, shape in SHAPES[step].items():
                expect_same(root[f"{name}{ending}/{part}"], patterned(name, part, shape, order))
            expect_same(root[f"one {name}{ending}/5"], patterned(name, 5, (), order))
    expect_same(root[f"{UNICODE}/0"], patterned("float64", 0, SHAPES[step][0][:1]))


def test_types_are_packed_in_the_second_step(samples, opened, tmp_path):
    opened(samples / "types.fb", "--step", 2)
    references = json.loads((tmp_path / "refs.json").read_text())["refs"]
    for name in TYPES:
        assert json.loads(references[f"{name}/0/.zarray"])["compressor"]["id"] == "zstd"


@pytest.mark.parametrize("step", SHAPES)
def test_xarray_opens_fields_of_all_types(samples, by_xarray, step):
    for name in TYPES:
        parts = by_xarray(name, samples / "types.fb", "--step", step)
        for part, shape in SHAPES[step].items():
            assert numpy.array_equal(parts[str(part)].values, patterned(name, part, shape))
    one = by_xarray("one complex64", samples / "types.fb", "--step", step)["5"]
    assert one.values == patterned("complex64", 5, ())
    named = by_xarray(UNICODE, samples / "types.fb", "--step", step)["0"]
    assert numpy.array_equal(named.values, patterned("float64", 0, SHAPES[step][0][:1]))


@pytest.fixture
def by_xarray(tmp_path, forebay):
    """by_xarray(group, dataset, options) exports references and opens them as the guide does."""
    import xarray

    def make(group, dataset, *options):
        file = tmp_path / "refs.json"
        completed = forebay("export", dataset, "--kerchunk", file, *options)
        assert completed.code == 0, completed.err
        where = {"fo": str(file), "remote_protocol": "file", "skip_instance_cache": True}
        return xarray.open_zarr("reference://", group=group, zarr_format=2, storage_options=where)

    return make


def test_xarray_opens_the_parts_of_a_field(samples, by_xarray):
    parts = by_xarray("velocity", samples / "run.fb")
    assert sorted(parts.data_vars) == ["0", "1", "2", "3", "4"]
    for part in range(5):
        array = parts[str(part)]
        assert array.dims == (f"part_{part}_0", f"part_{part}_1")
        assert array.dtype == "f4"
        assert numpy.array_equal(array.values, expected(30, part, "f4", 2))


def test_xarray_opens_global_arrays(samples, by_xarray):
    step = by_xarray(None, samples / "grid.fb", "--field", "temperature")
    assert step.attrs == {"step": 1}
    assert step["temperature"].dims == ("temperature_0", "temperature_1")
    assert numpy.array_equal(step["temperature"].values, CELLS)
    assert step["temperature"][4, 5] == 4 * 8 + 5


@pytest.mark.parametrize("reader", ["opened", "copied"])
@pytest.mark.parametrize(
    ("field", "shape"),
    [("temperature", (6, 8)), ("short", (7, 4)), ("slabs", (256, 4)), ("a/b", (2, 3))],
)
def test_global_arrays_are_the_same(samples, request, reader, field, shape):
    node = field.replace("/", "%2F")
    root = request.getfixturevalue(reader)(samples / "grid.fb", "--field", field)
    values = numpy.arange(numpy.prod(shape)).reshape(shape)
    assert numpy.array_equal(root[node][:], values)


@pytest.mark.parametrize("reader", ["opened", "copied"])
def test_several_fields_may_be_named(samples, request, reader):
    args = ("--field", "slabs", "--field", "temperature")
    root = request.getfixturevalue(reader)(samples / "grid.fb", *args)
    assert sorted(root.keys()) == ["slabs", "temperature"]


def test_unknown_field_is_an_error_with_all_fields(samples, forebay, tmp_path):
    completed = forebay("export", samples / "grid.fb", "--kerchunk", tmp_path / "r", "--field", "x")
    assert completed.code == 1
    assert "step 1 has no field x; it has a/b, odd, short, slabs, temperature" in completed.err


def test_pieces_that_are_packed_are_read_in_place(samples, opened):
    zeros = opened(samples / "packed.fb", "--field", "zeros")["zeros/3"]
    assert zeros.shape == (2 * ZSTD_PIECE + 500,)
    assert not zeros[:].any()


def test_copy_has_layouts_that_references_cannot_express(samples, copied):
    mixed = copied(samples / "packed.fb")["mixed/0"]
    assert not mixed[:ZSTD_PIECE].any()
    assert len(numpy.unique(mixed[ZSTD_PIECE:])) == 256
    odd = copied(samples / "grid.fb")["odd"]
    assert numpy.array_equal(odd[:], numpy.arange(24).reshape(6, 4))


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("grid.fb odd", "the block at (0, 1) has (6, 3) elements, the first one (6, 1)"),
        ("packed.fb mixed", "pieces of part 0 are stored in different ways"),
    ],
)
def test_layout_that_zarr_cannot_read_is_refused(samples, forebay, tmp_path, place, why):
    file = tmp_path / "refs.json"
    name, field = place.split()
    completed = forebay("export", samples / name, "--kerchunk", file, "--field", field)
    assert completed.code == 1
    assert f"field {field}: {why}; --hdf5 copies it" in completed.err
    assert not list(tmp_path.glob("refs*"))


def test_damage_leaves_no_copy(samples, forebay, damage, tmp_path):
    damage.flip(samples / "run.fb" / "data-000002.00001", 4096 + 900)
    completed = forebay("export", samples / "run.fb", "--hdf5", tmp_path / "out.h5")
    assert completed.code == 1
    for text in ("step 30", "field ", "part ", "data-000002.00001", "forebay verify"):
        assert text in completed.err
    assert not list(tmp_path.glob("out.h5*"))


def test_copy_reports_copied_bytes(samples, forebay, tmp_path):
    file = tmp_path / "out.h5"
    completed = forebay("export", samples / "grid.fb", "--hdf5", file, "--json", "-")
    assert json.loads(completed.out) == {
        "path": str(samples / "grid.fb"),
        "output": str(file),
        "step": 1,
        "fields": 5,
        "blocks": 13,
        "copied_bytes": 4 * (48 + 28 + 24 + 6 + 1024),
        "incomplete": [],
    }


def test_copy_works_without_file_locks(samples, forebay, tmp_path, monkeypatch):
    """As on NFS without a lock daemon, where flock() fails with ENOLCK."""
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    real = h5py.File

    def without_locks(name, mode="r", *, locking=None, **options):
        if locking is not False:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
        return real(name, mode, locking=locking, **options)

    file = tmp_path / "out.h5"
    with monkeypatch.context() as patched:
        patched.setattr(h5py, "File", without_locks)
        completed = forebay("export", samples / "grid.fb", "--hdf5", file)
    assert completed.code == 0, completed.err
    with h5py.File(file) as copied:
        assert copied.attrs["step"] == 1


def pattern(numpy_type: str, first: int):
    """The two elements of an attribute of field velocity, as dataset_samples writes them."""
    dtype = numpy.dtype(numpy_type)
    places = [first + i for i in range(2 * dtype.itemsize)]
    raw = bytes((37 * i + 11) % 64 + (128 if i % 5 == 0 else 0) for i in places)
    return numpy.frombuffer(raw, dtype).reshape(2, 1)


def test_copy_has_all_attributes(samples, copied):
    root = copied(samples / "described.fb")
    assert root.attrs["title"] == "A run, Größe 速度\nline 2"
    assert root.attrs["time"] == 0.5
    assert root.attrs["cycle"] == 2**64 - 1
    assert root.attrs["none"].shape == (0,)
    assert root.attrs["limits"].tolist() == [numpy.inf, -numpy.inf]
    assert numpy.array_equal(root.attrs["large"], numpy.full(100_000, 0.5))
    velocity = root["velocity"].attrs
    assert velocity["units"] == "m [s-1]"
    assert velocity["dimension_names"].tolist() == ["node", "axis"]
    integers = [f"{sign}int{8 << i}" for sign in ("", "u") for i in range(4)]
    names = [*integers, "float16", "float32", "float64", "complex64", "complex128"]
    for number, name in enumerate(names, 1):
        assert velocity[name].dtype == name
        assert velocity[name].tobytes() == pattern(name, number).tobytes(), name
    assert velocity["bytes"].tobytes() == pattern("u1", 14).tobytes()
    assert list(root["pressure"].attrs) == ["field"]


def test_attributes_of_the_copy_itself_replace_those_of_the_same_name(tmp_path):
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    text = {"kind": "text", "shape": [], "value": "mine"}
    mine = [text | {"name": name} for name in ("step", "field", "other")]
    field = HEAD["fields"][0] | {"attributes": mine}
    blocks = Blocks(HEAD | {"attributes": mine, "fields": [field]})
    hdf5_copy.copy(blocks, str(tmp_path / "out.h5"), lambda _progress: None)
    with h5py.File(tmp_path / "out.h5") as root:
        assert dict(root.attrs) == {"step": 1, "field": "mine", "other": "mine"}
        assert dict(root["f"].attrs) == {"field": "f", "step": "mine", "other": "mine"}


def test_one_target_is_needed(samples, forebay, tmp_path):
    assert forebay("export", samples / "run.fb").code == 2
    both = ["--hdf5", tmp_path / "a", "--kerchunk", tmp_path / "b"]
    assert forebay("export", samples / "run.fb", *both).code == 2


@pytest.mark.parametrize("target", ["--kerchunk", "--hdf5"])
def test_standard_output_is_refused_as_target(forebay, target):
    assert forebay("export", "run.fb", target, "-").code == 2


HEAD = {"step": 1, "bytes": 8, "attributes": [], "dataset_attributes": [],
        "fields": [{"name": "f", "node": "f", "dtype": "|u1", "kind": "parts", "shape": [],
                    "attributes": []}]}  # fmt: skip
BLOCK = {"field": 0, "part": 0, "shape": [8], "bytes": 8}


class Blocks:
    """A BlockStream with these blocks, whose bytes cannot be read."""

    def __init__(self, head, blocks=()):
        self.head, self.blocks = head, blocks

    def __iter__(self):
        return iter(self.blocks)

    def readinto(self, _buffer):
        raise NativeError({"class": "damage", "message": "read part 0: wrong checksum"})


def test_failure_of_a_read_leaves_no_file(forebay, fake_tools, tmp_path):
    pytest.importorskip("h5py", reason="h5py is not installed")
    fake_tools(open_blocks=lambda *_, **__: Blocks(HEAD, [BLOCK]))
    completed = forebay("export", "run.fb", "--hdf5", tmp_path / "out.h5")
    assert (completed.code, "wrong checksum" in completed.err) == (1, True)
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize("shape", [(), (7,), (3, 0), (4, 5, 6), (2, 100), (1, 1, 9)])
@pytest.mark.parametrize("most", [1, 4, 30, 1000])
def test_slabs_are_runs_of_an_array_in_order(shape, most):
    from forebay.hdf5_copy import slabs

    array = numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape)
    runs = []
    for start, count in slabs(shape, most):
        run = array[tuple(slice(a, a + n) for a, n in zip(start, count, strict=True))].ravel()
        assert 0 < run.size <= most
        runs += run.tolist()
    assert runs == array.ravel().tolist()
