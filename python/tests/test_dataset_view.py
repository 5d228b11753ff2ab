# SPDX-License-Identifier: Apache-2.0
"""`forebay view`: h5py, netCDF4, xarray, zarr and VTK read all steps of a dataset in place."""

import itertools
import random
import shutil
from types import SimpleNamespace

import numpy
import pytest
from sample_values import TYPES, UNICODE, expected, patterned

from forebay.errors import ForebayError
from forebay.view import hdf5 as hdf5_view
from forebay.view.chunk_grid import NoGridError, find_chunk
from forebay.view.places import Block, Step, StepField

h5py = pytest.importorskip("h5py", reason="h5py is not installed")

STEPS = (1, 2, 3)


@pytest.fixture
def viewed(tmp_path, forebay):
    """viewed(dataset, options) writes a view; returns the open HDF5 file and the document."""

    def make(dataset, *options):
        file = tmp_path / "view.h5"
        completed = forebay("view", dataset, "--hdf5", file, "--json", "-", *options)
        assert completed.code == 0, completed.err
        return SimpleNamespace(file=h5py.File(file), path=file, document=completed.json)

    return make


@pytest.fixture
def referenced(tmp_path, forebay):
    """referenced(dataset) writes parquet references; returns the group of zarr and the document."""
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")

    def make(dataset, *options):
        folder = tmp_path / "view.parq"
        completed = forebay("view", dataset, "--kerchunk", folder, "--json", "-", *options)
        assert completed.code == 0, completed.err
        where = {"fo": str(folder), "remote_protocol": "file", "skip_instance_cache": True}
        root = zarr.open_group("reference://", mode="r", zarr_format=2, storage_options=where)
        return SimpleNamespace(file=root, path=folder, document=completed.json, where=where)

    return make


@pytest.fixture(params=["viewed", "referenced"])
def shown(request):
    """A view of either kind."""
    return request.getfixturevalue(request.param)


def grid_values(*shape):
    """All steps of a field of image.fb."""
    step = numpy.arange(numpy.prod(shape)).reshape(shape)
    return numpy.stack([1000 * number + step for number in STEPS]).astype("f4")


def datasets_of(group):
    found = []
    group.visititems(lambda _name, node: found.append(node) if hasattr(node, "shape") else None)
    return found


def test_parts_of_all_steps_are_the_same(samples, shown):
    root = shown(samples / "run.fb").file
    assert root["step"][:].tolist() == [10, 20, 30]
    for part in range(5):
        for name, dtype, dimensions in (("pressure", "f8", 1), ("velocity", "f4", 2)):
            node = root[f"{name}/{part}"]
            assert node.dtype == dtype
            for i, step in enumerate((10, 20, 30)):
                assert numpy.array_equal(node[i], expected(step, part, dtype, dimensions))


@pytest.mark.parametrize(("options", "steps"), [(("--step", 1), [1]), ((), [1, 2])])
def test_all_types_are_the_same(samples, referenced, viewed, options, steps):
    """Step 2 has parts of other shapes, and is compressed, which HDF5 cannot show."""
    views = [referenced(samples / "types.fb", *options)]
    views += [viewed(samples / "types.fb", *options)] if steps == [1] else []
    shapes = {1: {0: (2, 3), 1: (0, 3), 2: (1, 3)}, 2: {0: (200, 3), 1: (0, 3), 2: (1, 3)}}
    for view, name, (ending, order) in itertools.product(views, TYPES, (("", "<"), (" big", ">"))):
        for i, step in enumerate(steps):
            for part, shape in shapes[step].items():
                path = f"{name}{ending}/{part}"
                differs = len({shapes[one][part] for one in steps}) > 1
                array = view.file[f"{path}/{step}"][...] if differs else view.file[path][i]
                values = patterned(name, part, shape, order)
                assert (array.dtype, array.shape) == (values.dtype, values.shape), path
                assert numpy.array_equal(array, values), path
    place = f"{UNICODE}/0" if steps == [1] else f"{UNICODE}/0/1"
    values = patterned("float64", 0, shapes[1][0][:1])
    assert numpy.array_equal(views[-1].file[place][...].reshape(2), values)


@pytest.mark.parametrize(
    ("field", "shape"),
    [("temperature", (6, 8)), ("short", (7, 4)), ("slabs", (256, 4)), ("a/b", (2, 3))],
)
def test_global_arrays_are_the_same(samples, shown, field, shape):
    root = shown(samples / "grid.fb").file
    values = numpy.arange(numpy.prod(shape)).reshape(1, *shape)
    assert numpy.array_equal(root[field.replace("/", "%2F")][:], values)


def test_blocks_that_form_no_grid_are_one_array_of_hdf5(samples, viewed, referenced):
    odd = viewed(samples / "grid.fb").file["odd"]
    assert numpy.array_equal(odd[0], numpy.arange(24).reshape(6, 4))
    view = referenced(samples / "grid.fb")
    (excluded,) = view.document["excluded"]
    assert excluded["field"] == "odd"
    assert "(6, 3) elements, the first one (6, 1)" in excluded["cause"]
    assert "odd" not in view.file


def test_steps_of_a_grid_are_the_first_dimension(samples, shown):
    root = shown(samples / "image.fb").file
    assert numpy.array_equal(root["temperature"][:], grid_values(6, 8, 10))
    assert numpy.array_equal(root["velocity"][:], grid_values(6, 8, 10, 3))
    assert root["time"][:].tolist() == [0.5, 1, 1.5]
    assert root["temperature"].attrs["units"] == "K"
    assert root["temperature"][1, 5, 7, 9] == 2479


def test_view_copies_no_bytes(samples, viewed):
    view = viewed(samples / "image.fb")
    assert view.document["referenced_bytes"] == 3 * 4 * (480 + 1440 + 315)
    for node in datasets_of(view.file):
        stored = node.id.get_storage_size()
        is_elsewhere = node.external or node.is_virtual
        assert is_elsewhere or stored <= 100, node.name  # time axis, VTKHDF offsets
    assert view.document["view_bytes"] == view.path.stat().st_size


def test_netcdf_and_xarray_open_the_view(samples, viewed):
    netcdf4 = pytest.importorskip("netCDF4", reason="netCDF4 is not installed")
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    view = viewed(samples / "image.fb")
    view.file.close()
    with netcdf4.Dataset(view.path) as opened:
        temperature = opened["temperature"]
        assert temperature.dimensions == ("time", "z", "y", "x")
        assert numpy.array_equal(temperature[:], grid_values(6, 8, 10))
    with xarray.open_dataset(view.path) as opened:
        assert opened["temperature"].dims == ("time", "z", "y", "x")
        assert opened["time"].values.tolist() == [0.5, 1, 1.5]
        assert numpy.array_equal(opened["velocity"].values, grid_values(6, 8, 10, 3))
    parts = viewed(samples / "run.fb")
    parts.file.close()
    with xarray.open_dataset(parts.path, group="velocity") as opened:
        assert numpy.array_equal(opened["4"].values[2], expected(30, 4, "f4", 2))


def test_xarray_opens_the_references(samples, referenced):
    xarray = pytest.importorskip("xarray", reason="xarray is not installed")
    view = referenced(samples / "image.fb")
    opened = xarray.open_zarr("reference://", zarr_format=2, storage_options=view.where)
    assert opened["temperature"].dims == ("time", "z", "y", "x")
    assert numpy.array_equal(opened["temperature"].sel(time=1.0).values, grid_values(6, 8, 10)[1])


def test_attributes_are_shown(samples, viewed):
    view = viewed(samples / "described.fb").file
    assert view.attrs["title"] == "A run, Größe 速度\nline 2"
    assert view["velocity"].attrs["units"] == "m [s-1]"
    assert view["velocity/0"].dims[1].label == "node"
    assert view["time"][:].tolist() == [0.25, 0.5]


def test_compressed_fields_are_excluded_by_name(samples, viewed, forebay, tmp_path):
    view = viewed(samples / "packed.fb")
    causes = {one["field"]: one["cause"] for one in view.document["excluded"]}
    assert sorted(causes) == ["mixed", "zeros"]
    assert "compressed" in causes["zeros"]
    assert not view.file.keys() & {"mixed", "zeros"}
    shown = forebay("view", samples / "packed.fb", "--hdf5", tmp_path / "again.h5")
    assert "field mixed: it is compressed" in " ".join(shown.out.split())


def test_fields_that_change_or_overlap_are_excluded(samples, shown):
    view = shown(samples / "overlap.fb")
    causes = {one["field"]: (one["step"], one["cause"]) for one in view.document["excluded"]}
    assert causes["v"] == (2, "its dtype is <i4, in step 1 <f4")
    assert causes["u"][0] == 1
    assert "shares elements" in causes["u"][1]
    assert view.file["w/0"][:].tolist() == [0, 2.5]


def test_elements_that_no_block_holds_are_reported(samples, viewed):
    view = viewed(samples / "overlap.fb")
    assert view.document["incomplete"] == ["x"]
    assert view.file["x"][1].tolist() == [0, 2001, 2002, 2003, 2004, 0]
    assert view.file["x"].attrs["incomplete"]
    assert view.file["w/0"].attrs["missing_steps"].tolist() == [1]


def remove_files(dataset, prefix):
    for file in dataset.glob(f"{prefix}*"):
        file.unlink()


def test_pruned_data_file_is_an_error_and_check_names_the_step(samples, viewed, forebay):
    """HDF5 must not read zeros for them."""
    view = viewed(samples / "image.fb")
    view.file.close()
    assert forebay("view", "--check", view.path).code == 0
    remove_files(samples / "image.fb", "data-000001")
    view.file = h5py.File(view.path)
    assert view.file["temperature"][0, 0, 0, 1] == 1001
    for name in ("temperature", "load", "VTKHDF/PointData/velocity"):
        with pytest.raises(OSError, match="external raw data file"):
            view.file[name][1]
    view.file.close()
    checked = forebay("view", "--check", view.path, "--json", "-")
    assert checked.code == 1
    (stale,) = checked.json["stale"]
    assert stale["step"] == 2
    assert "data-000001.00000" in stale["cause"]
    again = viewed(samples / "image.fb")
    assert again.document["steps"] == [1, 3]
    assert again.document["excluded"][0]["step"] == 2


def test_netcdf_reports_a_pruned_data_file(samples, viewed):
    netcdf4 = pytest.importorskip("netCDF4", reason="netCDF4 is not installed")
    view = viewed(samples / "image.fb")
    view.file.close()
    remove_files(samples / "image.fb", "data-000001")
    with netcdf4.Dataset(view.path) as opened, pytest.raises(RuntimeError, match="HDF error"):
        opened["temperature"][1]


def test_zarr_reports_a_pruned_data_file(samples, referenced):
    view = referenced(samples / "image.fb")
    remove_files(samples / "image.fb", "data-000001")
    assert view.file["load"][0, 0, 0, 1] == 1001
    with pytest.raises(RuntimeError, match=r"load/1\.0\.0\.0.*data-000001"):
        view.file["load"][1]


def test_dataset_is_shown_while_it_is_written(viewed, forebay, tmp_path):
    module = pytest.importorskip("_forebay", reason="the Python module is not built")
    with module.Runtime() as runtime, runtime.create_dataset(str(tmp_path / "run.fb")) as dataset:
        for number in (1, 2):
            with dataset.step(number) as step:
                step.put("u", numpy.full(10, float(number)), part=0)
            step.committed.result()
        view = viewed(tmp_path / "run.fb")
        assert view.file["u/0"][:].tolist() == [[1] * 10, [2] * 10]
        with dataset.step(3) as step:
            step.put("u", numpy.full(10, 3.0), part=0)
        step.committed.result()
        assert view.file["u/0"][1].tolist() == [2] * 10
        view.file.close()
        checked = forebay("view", "--check", view.path, "--json", "-")
        assert (checked.code, checked.json["newer_steps"]) == (0, [3])


def test_check_reports_other_and_newer_steps(samples, viewed, forebay):
    view = viewed(samples / "run.fb", "--step", "10")
    view.file.close()
    checked = forebay("view", "--check", view.path, "--json", "-")
    assert (checked.code, checked.json["newer_steps"]) == (0, [20, 30])
    shutil.rmtree(samples / "run.fb")
    shutil.copytree(samples / "types.fb", samples / "run.fb")
    checked = forebay("view", "--check", view.path)
    assert checked.code == 1
    assert "step 10: the dataset does not have it any more" in " ".join(checked.out.split())
    shutil.rmtree(samples / "run.fb")
    shutil.copytree(samples / "mesh.fb", samples / "run.fb")
    view = viewed(samples / "run.fb")
    view.file.close()
    shutil.rmtree(samples / "run.fb")
    shutil.copytree(samples / "image.fb", samples / "run.fb")
    checked = forebay("view", "--check", view.path)
    assert "its blocks are stored elsewhere now" in " ".join(checked.out.split())


def test_file_that_is_no_view_is_refused(forebay, tmp_path):
    (tmp_path / "text").write_text("no view")
    checked = forebay("view", "--check", tmp_path / "text")
    assert checked.code == 1
    assert "it is no view" in checked.err


def test_view_has_the_name_of_the_dataset_by_default(samples, forebay, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert forebay("view", samples / "grid.fb").code == 0
    assert h5py.is_hdf5("grid.h5")


@pytest.mark.parametrize("options", [(), ("--hdf5", "grid.h5")])
def test_file_that_is_no_view_is_not_replaced(samples, forebay, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    with h5py.File("grid.h5", "w") as mine:
        mine["x"] = [1.5, 2.5]
    contents = (tmp_path / "grid.h5").read_bytes()
    for kept in (contents, b"text"):
        (tmp_path / "grid.h5").write_bytes(kept)
        completed = forebay("view", samples / "grid.fb", *options)
        assert completed.code == 1
        assert "it exists and is no view; name another file with --hdf5" in completed.err
        assert (tmp_path / "grid.h5").read_bytes() == kept
    (tmp_path / "grid.h5").unlink()
    for _time in range(2):
        assert forebay("view", samples / "grid.fb", *options).code == 0


def test_arguments_that_exclude_each_other_are_refused(samples, forebay, tmp_path):
    assert forebay("view").code == 2
    assert forebay("view", samples / "run.fb", "--check", "x").code == 2
    both = ("--hdf5", tmp_path / "a", "--kerchunk", tmp_path / "b")
    assert forebay("view", samples / "run.fb", *both).code == 2
    for option in ("--hdf5", "--kerchunk"):
        assert forebay("view", samples / "run.fb", option, samples / "run.fb/x").code == 2
        assert forebay("view", samples / "run.fb", option, tmp_path / "none/x").code == 2


def test_unknown_field_and_step_are_errors(samples, forebay, tmp_path):
    output = ("--hdf5", tmp_path / "out.h5")
    completed = forebay("view", samples / "run.fb", *output, "--field", "x")
    assert completed.code == 1
    assert "no step has a field x; there are pressure, velocity" in completed.err
    assert forebay("view", samples / "run.fb", *output, "--step", 7).code == 1
    assert forebay("view", samples / "none.fb", *output).code == 1
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize("command", [("view", "--hdf5"), ("export", "--kerchunk")])
def test_path_that_is_not_utf8_is_refused(samples, forebay, tmp_path, command):
    folder = samples / "gr\udcfc\udcdf.fb"
    (samples / "run.fb").rename(folder)
    (samples / "link.fb").symlink_to(folder)
    for given in (folder, samples / "link.fb"):
        completed = forebay(command[0], given, command[1], tmp_path / "out")
        assert completed.code == 1
        assert "not UTF-8" in completed.err
    assert not list(tmp_path.glob("out*"))


def test_overlapping_blocks_are_no_references(samples, forebay, tmp_path):
    target = ("--kerchunk", tmp_path / "refs.json")
    completed = forebay("export", samples / "overlap.fb", "--step", 1, *target)
    assert completed.code == 1
    for text in ("field u, block at element 0", "field u, block at element 1"):
        assert text in completed.err
    assert not list(tmp_path.glob("refs*"))
    fields = ("--field", "v")
    assert forebay("export", samples / "overlap.fb", "--step", 1, *fields, *target).code == 0


def test_references_replace_references_alone(samples, forebay, tmp_path):
    folder = tmp_path / "out.parq"
    for _time in range(2):
        assert forebay("view", samples / "grid.fb", "--kerchunk", folder).code == 0
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/file").write_text("important")
    completed = forebay("view", samples / "grid.fb", "--kerchunk", tmp_path / "mine")
    assert completed.code == 1
    assert "holds no references" in completed.err
    assert (tmp_path / "mine/file").read_text() == "important"
    assert sorted(path.name for path in tmp_path.glob("*.tmp-*")) == []


@pytest.mark.parametrize("text", ['{"zarr_consolidated_format":1,"metadata":{}}', "3", "no JSON"])
def test_store_of_zarr_is_not_replaced(samples, forebay, tmp_path, text):
    store = tmp_path / "real.zarr"
    store.mkdir()
    (store / ".zmetadata").write_text(text)
    completed = forebay("view", samples / "grid.fb", "--kerchunk", store)
    assert completed.code == 1
    assert "holds no references" in completed.err
    assert (store / ".zmetadata").read_text() == text


def test_references_are_written_to_an_empty_directory(samples, forebay, tmp_path):
    (tmp_path / "empty").mkdir()
    assert forebay("view", samples / "grid.fb", "--kerchunk", tmp_path / "empty").code == 0
    assert (tmp_path / "empty/.zmetadata").is_file()


# Meshes


def test_grid_has_the_layout_of_vtkhdf(samples, viewed):
    root = viewed(samples / "image.fb").file["VTKHDF"]
    assert root.attrs["Type"] == b"ImageData"
    assert root.attrs["WholeExtent"].tolist() == [0, 9, 0, 7, 0, 5]
    assert root.attrs["Origin"].tolist() == [1, 2, 3]
    assert root["Steps"].attrs["NSteps"] == 3
    assert root["Steps/Values"][:].tolist() == [0.5, 1, 1.5]
    assert numpy.array_equal(root["CellData/load"][:], grid_values(5, 7, 9))


def test_mesh_has_the_layout_of_vtkhdf(samples, viewed):
    """Step 2 has no mesh of its own: it has that of step 1."""
    root = viewed(samples / "mesh.fb").file["VTKHDF"]
    assert root["NumberOfCells"][:].tolist() == [5, 6, 7, 8]
    assert root["Steps/PartOffsets"][:].tolist() == [0, 0, 2]
    assert root["Steps/PointOffsets"][:].tolist() == [0, 0, 17]
    assert root["Steps/CellOffsets"][:].tolist() == [[0], [0], [11]]
    assert root["Steps/PointDataOffsets/height"][:].tolist() == [0, 17, 34]
    assert root["Points"].shape == (38, 3)
    assert root["PointData/height"][17:19].tolist() == [200, 201]


@pytest.mark.parametrize(
    ("options", "cause"),
    [
        (("--field", "height"), "vtk_points names the field points"),
        (("--step", 2), "vtk_points names the field points"),
    ],
)
def test_mesh_without_its_fields_is_excluded(samples, viewed, options, cause):
    view = viewed(samples / "mesh.fb", *options)
    (excluded,) = view.document["excluded"]
    assert excluded["field"] is None
    assert cause in excluded["cause"]
    assert "VTKHDF" not in view.file


def attribute(name, value):
    shape = [] if isinstance(value, str) else [len(value)]
    kind = "text" if isinstance(value[0], str) else "numbers"
    return {"name": name, "kind": kind, "type": "float64", "shape": shape, "value": value}


def flat_grid(folder, attributes=(), names=("", ""), **associations):
    """A view of two steps of fields of 4 x 5 elements, which are in one file."""
    numpy.arange(40, dtype="<f8").tofile(folder / "data")
    steps = []
    for i in range(2):
        fields = {}
        for name, association in associations.items():
            box = block_of([0, 0], [4, 5], [(str(folder / "data"), 160 * i, 160)])
            own = [attribute("vtk_association", association)]
            own.append(attribute("dimension_names", list(names)))
            head = {"name": name, "node": name, "dtype": "<f8", "kind": "global", "shape": [4, 5],
                    "attributes": own}  # fmt: skip
            fields[name] = StepField(head, boxes=[box])
        steps.append(Step(i, [], [attribute("vtk_type", "ImageData"), *attributes], fields))
    return hdf5_view.write(str(folder), steps, [], str(folder / "view.h5"))


def test_grid_of_two_dimensions_is_one_layer(tmp_path):
    assert flat_grid(tmp_path, u="PointData")["excluded"] == []
    with h5py.File(tmp_path / "view.h5") as view:
        root = view["VTKHDF"]
        assert root.attrs["WholeExtent"].tolist() == [0, 4, 0, 3, 0, 0]
        assert numpy.array_equal(root["PointData/u"][:], numpy.arange(40).reshape(2, 1, 4, 5))


def test_grid_of_cells_alone_has_one_more_point(tmp_path):
    flat_grid(tmp_path, u="CellData")
    with h5py.File(tmp_path / "view.h5") as view:
        assert view["VTKHDF"].attrs["WholeExtent"].tolist() == [0, 5, 0, 4, 0, 0]


def test_field_of_another_shape_is_not_in_the_grid(tmp_path):
    document = flat_grid(tmp_path, u="PointData", v="CellData")
    (excluded,) = document["excluded"]
    assert (excluded["field"], document["fields"]) == ("v", 2)
    assert "CellData of this grid has the shape [3, 4]" in excluded["cause"]


@pytest.mark.parametrize(
    ("name", "value", "cause"),
    [
        ("vtk_spacing", [1.0, 2.0], "vtk_spacing must have 3 numbers"),
        ("vtk_origin", "here", "vtk_origin must have 3 numbers"),
        ("vtk_origin", ["a", "b", "c"], "vtk_origin must have numbers, not ['a', 'b', 'c']"),
        ("vtk_type", [1.0], "vtk_type is [1.0]; views show ImageData"),
        ("vtk_type", "PolyData", "vtk_type is PolyData; views show ImageData"),
    ],
)
def test_attributes_that_are_no_mesh_are_reported(tmp_path, monkeypatch, name, value, cause):
    if name == "vtk_type":
        monkeypatch.setattr(Step, "value", lambda _self, key: value if key == name else None)
    document = flat_grid(tmp_path, [attribute(name, value)], u="PointData")
    (excluded,) = document["excluded"]
    assert (excluded["step"], excluded["field"]) == (None, None)
    assert cause in excluded["cause"]


@pytest.mark.parametrize("name", ["VTKHDF", "step", "length_4", hdf5_view.SOURCES])
def test_field_with_a_name_of_the_view_itself_is_shown(tmp_path, name):
    flat_grid(tmp_path, **{name: "PointData"})
    with h5py.File(tmp_path / "view.h5") as view:
        assert numpy.array_equal(view[name][:], numpy.arange(40).reshape(2, 4, 5))


def test_dimension_with_the_name_of_a_length_keeps_its_own(tmp_path):
    """netCDF-4 shows a truncated array if dimensions of other lengths share a scale."""
    flat_grid(tmp_path, names=["length_5", ""], u="PointData")
    with h5py.File(tmp_path / "view.h5") as view:
        assert [view["u"].dims[i][0].shape for i in (1, 2)] == [(4,), (5,)]
        assert view["u"].dims[1][0].name == "/length_5"


def test_fields_with_one_name_in_vtk_are_shown_once(tmp_path):
    document = flat_grid(tmp_path, **{"a.b": "PointData", "a_b": "PointData"})
    (excluded,) = document["excluded"]
    assert excluded["field"] == "a_b"
    assert "another field has the name a_b in VTK" in excluded["cause"]


def test_time_that_is_no_number_is_no_axis(tmp_path):
    flat_grid(tmp_path, [attribute("time", "noon")], u="PointData")
    with h5py.File(tmp_path / "view.h5") as view:
        assert view["step"][:].tolist() == [0, 1]
        assert view["VTKHDF/Steps/Values"][:].tolist() == [0, 1]


def mesh_step(folder, **changes):
    """A step of a mesh of one cell; `changes` are shapes of parts of its fields."""
    shapes = {"points": (4, 3), "links": (4,), "first": (2,), "types": (1,)} | changes
    attributes = [attribute("vtk_type", "UnstructuredGrid")]
    keys = ("vtk_points", "vtk_connectivity", "vtk_offsets", "vtk_types")
    attributes += [attribute(key, name) for key, name in zip(keys, shapes, strict=False)]
    (folder / "data").write_bytes(bytes(1000))
    fields = {}
    for name, shape in shapes.items():
        segment = (str(folder / "data"), 0, 8 * int(numpy.prod(shape)))
        head = {"name": name, "node": name, "dtype": "<i8", "kind": "parts", "shape": [],
                "attributes": []}  # fmt: skip
        fields[name] = StepField(head, parts={0: block_of([0] * len(shape), shape, [segment])})
    return Step(1, [], attributes, fields)


@pytest.mark.parametrize(
    ("changes", "cause"),
    [
        ({"points": (4, 2)}, "points must have points × 3"),
        ({"links": (2, 2)}, "links must have one dimension"),
        ({"types": ()}, "types must have one dimension"),
        ({"first": (3,)}, "first must have 2 elements"),
    ],
)
def test_mesh_of_wrong_shapes_is_reported(tmp_path, changes, cause):
    step = mesh_step(tmp_path, **changes)
    document = hdf5_view.write(str(tmp_path), [step], [], str(tmp_path / "view.h5"))
    (excluded,) = document["excluded"]
    assert cause in excluded["cause"]


@pytest.mark.parametrize(
    ("association", "shape", "cause"),
    [
        (None, (3,), "its parts need [4] rows"),
        ("CellData", (4,), "its parts need [1] rows"),
        ("Points", (4,), "vtk_association is Points"),
        (None, (), "its parts need [4] rows"),
    ],
)
def test_field_that_fits_no_mesh_is_reported(tmp_path, association, shape, cause):
    step = mesh_step(tmp_path, u=shape)
    if association:
        step.fields["u"].head["attributes"] = [attribute("vtk_association", association)]
    document = hdf5_view.write(str(tmp_path), [step], [], str(tmp_path / "view.h5"))
    (excluded,) = document["excluded"]
    assert excluded["field"] == "u"
    assert cause in excluded["cause"]


def vtk_outputs(path, step):
    """The pieces that VTK reads of a step."""
    pytest.importorskip("vtkmodules", reason="vtk is not installed: run make test-all")
    from vtkmodules.vtkIOHDF import vtkHDFReader

    reader = vtkHDFReader()
    reader.SetFileName(str(path))
    reader.UpdateInformation()
    assert reader.GetNumberOfSteps() == 3
    reader.SetStep(step)
    reader.Update()
    output = reader.GetOutputDataObject(0)
    if not hasattr(output, "GetNumberOfPartitions"):
        return [output]
    return [output.GetPartition(i) for i in range(output.GetNumberOfPartitions())]


def vtk_array(data, name):
    from vtkmodules.util.numpy_support import vtk_to_numpy

    return vtk_to_numpy(data.GetArray(name))


@pytest.mark.parametrize("step", range(3))
def test_vtk_reads_the_steps_of_a_grid(samples, viewed, step):
    (image,) = vtk_outputs(viewed(samples / "image.fb").path, step)
    assert image.GetDimensions() == (10, 8, 6)
    temperature = vtk_array(image.GetPointData(), "temperature")
    assert numpy.array_equal(temperature, grid_values(6, 8, 10)[step].ravel())
    velocity = vtk_array(image.GetPointData(), "velocity")
    assert numpy.array_equal(velocity, grid_values(480, 3)[step])
    assert numpy.array_equal(vtk_array(image.GetCellData(), "load"), grid_values(315)[step])


@pytest.mark.parametrize("step", range(3))
def test_vtk_reads_the_steps_of_a_mesh(samples, viewed, step):
    pieces = vtk_outputs(viewed(samples / "mesh.fb").path, step)
    cells = [7, 8] if step == 2 else [5, 6]
    assert [piece.GetNumberOfCells() for piece in pieces] == cells
    for part, piece in enumerate(pieces):
        points = cells[part] + 3
        height = vtk_array(piece.GetPointData(), "height")
        assert height.tolist() == [100 * (step + 1) + 10 * part + i for i in range(points)]
        assert vtk_array(piece.GetCellData(), "rank").tolist() == [part] * cells[part]
        last = piece.GetCell(cells[part] - 1)
        corners = [last.GetPointId(i) for i in range(4)]
        assert (last.GetCellType(), corners) == (10, list(range(points - 4, points)))
        assert piece.GetPoint(points - 1)[0] == points - 1 + 10 * part


# Places


def block_of(start, count, segments=()):
    return Block(tuple(start), tuple(count), tuple(segments))


def random_cut(generator, start, count):
    """Boxes that cover a box."""
    d = generator.randrange(len(count))
    if count[d] < 2 or generator.random() < 0.3:
        return [(start, count)]
    at = generator.randrange(1, count[d])
    rest = [a + at if i == d else a for i, a in enumerate(start)]
    sizes = [[n if i == d else c for i, c in enumerate(count)] for n in (at, count[d] - at)]
    return [*random_cut(generator, start, sizes[0]), *random_cut(generator, rest, sizes[1])]


@pytest.mark.parametrize("seed", range(200))
def test_merged_boxes_have_the_bytes_of_their_blocks(seed):
    generator = random.Random(seed)
    shape = [generator.randrange(1, 6) for _d in range(generator.randrange(1, 5))]
    array = numpy.arange(numpy.prod(shape)).reshape(shape)
    blocks, content = [], {}
    for i, (start, count) in enumerate(random_cut(generator, [0] * len(shape), shape)):
        where = tuple(slice(a, a + n) for a, n in zip(start, count, strict=True))
        content[str(i)] = array[where].ravel().tolist()
        blocks.append(block_of(start, count, [(str(i), 0, len(content[str(i)]))]))
    merged = hdf5_view.merge(blocks)
    assert sum(numpy.prod(box.count) for box in merged) == array.size
    for box in merged:
        where = tuple(slice(a, a + n) for a, n in zip(box.start, box.count, strict=True))
        values = [value for path, _offset, _size in box.segments for value in content[path]]
        assert values == array[where].ravel().tolist()


def test_array_of_more_segments_than_a_dataset_can_have(tmp_path):
    count = 2 * hdf5_view.SEGMENTS_MAX + 500
    numpy.arange(count, dtype="<i8").tofile(tmp_path / "data")
    path = str(tmp_path / "data")
    head = {"name": "f", "node": "f", "dtype": "<i8", "kind": "global", "shape": [count],
            "attributes": []}  # fmt: skip
    boxes = [block_of([i], [1], [(path, 8 * i, 8)]) for i in range(count)]
    step = Step(1, [], [], {"f": StepField(head, boxes=boxes)})
    hdf5_view.write(str(tmp_path), [step], [], str(tmp_path / "view.h5"))
    with h5py.File(tmp_path / "view.h5") as view:
        assert numpy.array_equal(view["f"][0], numpy.arange(count))
        assert len(view[hdf5_view.SOURCES]) == 3


def grid_of(shape, chunk):
    """Boxes of a regular grid, the last ones first."""
    starts = itertools.product(*(range(0, n, c) for n, c in zip(shape, chunk, strict=True)))
    return [
        (at, tuple(min(c, n - a) for a, c, n in zip(at, chunk, shape, strict=True)))
        for at in starts
    ][::-1]


def cause_of(shape, boxes, may_split=False):
    with pytest.raises(NoGridError) as error:
        find_chunk(shape, [boxes], may_split)
    return str(error.value)


def test_chunk_is_found_in_any_order_of_blocks():
    assert find_chunk((6, 8), [grid_of((6, 8), (3, 2))], False) == (3, 2)
    assert find_chunk((7, 8), [grid_of((7, 8), (3, 2))], False) == (3, 2)
    assert find_chunk((7, 8), [grid_of((7, 8), (3, 2))], True) == (3, 2)


def test_irregular_blocks_are_no_chunks():
    short = "the block at (3, 6) has (3, 1) elements, the first one (3, 2)"
    assert cause_of((6, 7), grid_of((6, 7), (3, 2))) == short
    boxes = grid_of((6, 8), (3, 2))
    assert cause_of((6, 8), [((1, 1), (1, 1))]) == "no block has the first element"
    assert cause_of((6, 8), boxes[1:]) == "1 of 8 blocks are missing"
    shifted = [((2, 6), (3, 2)), *boxes[1:]]
    assert cause_of((6, 8), shifted).startswith("the block at (2, 6) has (3, 2) elements")


def test_uneven_blocks_of_all_steps_have_a_common_chunk():
    boxes = [((0, 0), (4, 8)), ((4, 0), (4, 8)), ((8, 0), (6, 8))]
    assert "(6, 8) elements, the first one (4, 8)" in cause_of((14, 8), boxes)
    assert find_chunk((14, 8), [boxes], True) == (2, 8)
    whole = [((0, 0), (14, 8))]
    assert find_chunk((14, 8), [whole, boxes], True) == (2, 8)
    assert cause_of((14, 8), boxes[:2], True)


def test_steps_without_an_error_are_required(forebay, fake_tools, tmp_path):
    fake_tools(list_places=[{"step": 3, "error": "open run.fb: lost"}])
    completed = forebay("view", "run.fb", "--hdf5", tmp_path / "out.h5")
    assert completed.code == 1
    assert "open run.fb: lost" in completed.err


def test_several_kinds_of_one_field_are_excluded():
    from forebay.view.places import find_field_errors

    steps = [
        Step(n, [], [], {"f": StepField({"name": "f", "kind": kind, "dtype": "<f8"})})
        for n, kind in ((1, "parts"), (2, "global"))
    ]
    (excluded,) = find_field_errors(steps, ["f"])
    assert (excluded.step, excluded.cause) == (2, "its kind is global, in step 1 parts")
    with pytest.raises(ForebayError, match="no step has a field g"):
        from forebay.view.places import names_of_fields

        names_of_fields(steps, ["g"])
