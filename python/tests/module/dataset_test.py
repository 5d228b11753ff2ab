# SPDX-License-Identifier: Apache-2.0
"""Datasets and output streams of the Python module."""

import asyncio
import resource

import numpy as np
import pytest

import forebay

TYPES = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


@pytest.fixture
def runtime():
    with forebay.Runtime() as opened:
        yield opened


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.fb"


def write(runtime, path, number, **fields):
    """A step with one part 0 of each field."""
    with runtime.create_dataset(path, append=True) as dataset, dataset.step(number) as step:
        for name, data in fields.items():
            step.put(name, data, part=0)


def read(runtime, path, number, name):
    with runtime.open_dataset(path) as dataset:
        return dataset[number][name].read(part=0).result()


@pytest.mark.parametrize("dtype", TYPES)
def test_each_type_is_restored(runtime, path, dtype):
    values = np.arange(24).reshape(2, 3, 4).astype(dtype)
    write(runtime, path, 1, u=values)
    restored = read(runtime, path, 1, "u")
    assert restored.dtype == values.dtype
    np.testing.assert_array_equal(restored, values)


STRIDED = np.arange(96).reshape(4, 4, 6)


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(STRIDED),
        STRIDED[:, 1:3, ::2],
        STRIDED[::-1],
        STRIDED.transpose(2, 0, 1),
        np.broadcast_to(np.arange(3), (4, 3)),
    ],
    ids=["fortran", "slice", "reversed", "transposed", "broadcast"],
)
def test_array_that_is_not_contiguous_is_restored(runtime, path, array):
    write(runtime, path, 1, u=array)
    np.testing.assert_array_equal(read(runtime, path, 1, "u"), array)


@pytest.mark.parametrize("kind", ["part", "box"])
def test_strided_array_is_filled_in_place(runtime, path, kind):
    with runtime.create_dataset(path) as dataset, dataset.step(1) as step:
        step.put("part", STRIDED, part=0)
        step.put("box", STRIDED, start=(0, 0, 0), shape=STRIDED.shape)
    options = {"part": 0} if kind == "part" else {}
    ghosts = np.full((6, 6, 8), -1)
    fortran = np.zeros(STRIDED.shape, STRIDED.dtype, order="F")
    every_second = np.full((4, 4, 12), -1)
    with runtime.open_dataset(path) as dataset:
        field = dataset[1][kind]
        for into in (ghosts[1:-1, 1:-1, 1:-1], fortran, every_second[:, :, ::2]):
            assert field.readinto(into, **options).result() == STRIDED.nbytes
            np.testing.assert_array_equal(into, STRIDED)
        for unsuitable in (fortran[::-1], np.zeros(192, STRIDED.dtype)[::2]):
            with pytest.raises(forebay.InvalidArgumentError):
                field.readinto(unsuitable, **options).result()
    assert (ghosts[0] == -1).all()
    assert (ghosts[:, :, -1] == -1).all()
    assert (every_second[:, :, 1::2] == -1).all()


def test_missing_elements_of_a_strided_array_are_filled(runtime, path):
    with runtime.create_dataset(path) as dataset, dataset.step(1) as step:
        step.put("p", np.ones((1, 4)), start=(0, 0), shape=(2, 4))
    into = np.zeros((4, 2)).T
    with runtime.open_dataset(path) as dataset:
        dataset[1]["p"].readinto(into, fill=7).result()
    assert into.tolist() == [[1] * 4, [7] * 4]


def test_parts_together_need_contiguous_memory(runtime, path):
    write(runtime, path, 1, u=np.arange(6))
    with runtime.open_dataset(path) as dataset:
        field = dataset[1]["u"]
        for options in ({"parts": [0, 0]}, {"part": 0, "elements": 2}):
            with pytest.raises(forebay.InvalidArgumentError, match="not C-contiguous"):
                field.readinto(np.zeros(24, "i8")[::2], **options)


def test_array_of_another_shape_is_refused(runtime, path):
    with runtime.create_dataset(path) as dataset, dataset.step(1) as step:
        step.put("p", np.arange(8.0).reshape(2, 4), start=(0, 0), shape=(2, 4))
        step.put("u", np.arange(6.0).reshape(2, 3), part=0)
    with runtime.open_dataset(path) as dataset:
        p, u = dataset[1]["p"], dataset[1]["u"]
        for field, into, options in [(p, np.zeros((4, 2)), {}), (u, np.zeros((3, 2)), {"part": 0})]:
            with pytest.raises(forebay.InvalidArgumentError, match="another shape"):
                field.readinto(into, **options)
        flat = np.zeros(8)
        assert p.readinto(flat).result() == 64
        np.testing.assert_array_equal(flat, np.arange(8))


def test_bytes_are_untyped(runtime, path):
    write(runtime, path, 1, raw=b"abc", empty=bytearray())
    assert read(runtime, path, 1, "raw").tobytes() == b"abc"
    assert read(runtime, path, 1, "empty").shape == (0,)


def test_blocks_become_a_global_array(runtime, path):
    whole = np.arange(48.0).reshape(6, 8)
    with runtime.create_dataset(path) as dataset, dataset.step(3) as step:
        for row in range(0, 6, 2):
            step.put("p", whole[row : row + 2], start=(row, 0), shape=(6, 8))
    with runtime.open_dataset(path) as dataset:
        field = dataset[3]["p"]
        assert (field.kind, field.shape, field.dtype, field.blocks) == (
            "global",
            (6, 8),
            "float64",
            3,
        )
        for key in (
            ...,
            2,
            -1,
            slice(1, 5),
            (slice(1, 5), 3),
            (..., -2),
            (2, slice(2, -2)),
            (1, 1),
        ):
            np.testing.assert_array_equal(field[key], whole[key])
        box = field.read(start=(1, 2), count=(3, 4)).result()
        np.testing.assert_array_equal(box, whole[1:4, 2:6])
        for key in (6, (0, 0, 0), (slice(None), 9)):
            with pytest.raises(IndexError):
                field[key]
        with pytest.raises(forebay.InvalidArgumentError, match="step"):
            field[::2]


def test_missing_elements_are_filled_or_an_error(runtime, path):
    with runtime.create_dataset(path) as dataset, dataset.step(1) as step:
        step.put("p", np.ones((1, 4), "f4"), start=(0, 0), shape=(2, 4))
    with runtime.open_dataset(path) as dataset:
        field = dataset[1]["p"]
        with pytest.raises(forebay.NotFoundError):
            field[...]
        filled = field.read(fill=-1).result()
        np.testing.assert_array_equal(filled, [[1, 1, 1, 1], [-1, -1, -1, -1]])


def test_parts_are_read_together_or_in_part(runtime, path):
    with runtime.create_dataset(path) as dataset, dataset.step(1) as step:
        for part in (2, 5, 9):
            step.put("u", np.full(3, part), part=part)
    with runtime.open_dataset(path) as dataset:
        field = dataset[1]["u"]
        assert (field.parts, field.part_shape(5)) == ([2, 5, 9], (3,))
        assert field.parts_of_rank(0, 3) == [2]
        assert field.read(parts=[9, 2]).result().tolist() == [9, 9, 9, 2, 2, 2]
        assert field.read(part=5, first_element=1).result().tolist() == [5, 5]
        into = np.zeros(3, "i8")
        assert field.readinto(into, part=9).result() == 24
        assert into.tolist() == [9, 9, 9]
        with pytest.raises(forebay.NotFoundError):
            field.read(part=3).result()
        with pytest.raises(forebay.InvalidArgumentError, match="int64"):
            field.readinto(np.zeros(3), part=9).result()
        with pytest.raises(TypeError, match="part="):
            field.read()


def test_rank_without_parts_reads_no_elements(runtime, path):
    write(runtime, path, 1, u=np.arange(6.0))
    with runtime.open_dataset(path) as dataset:
        field = dataset[1]["u"]
        shares = [field.read(parts=field.parts_of_rank(rank, 3)).result() for rank in range(3)]
        assert sorted(share.size for share in shares) == [0, 0, 6]
        assert {share.dtype.name for share in shares} == {"float64"}
        assert field.readinto(np.zeros(0), parts=[]).result() == 0


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("u", {"part": 0, "start": (0,)}),
        ("u", {"part": 0, "count": (1,)}),
        ("u", {"part": 0, "fill": 0}),
        ("u", {"part": 0, "parts": [0]}),
        ("u", {"parts": [0], "elements": 1}),
        ("u", {"parts": [], "first_element": 1}),
        ("p", {"part": 0}),
        ("p", {"parts": []}),
        ("p", {"elements": 2}),
        ("p", {"first_element": 1}),
    ],
)
def test_option_that_does_not_fit_the_field_is_a_type_error(runtime, path, name, options):
    with runtime.create_dataset(path) as dataset, dataset.step(1) as step:
        step.put("p", np.arange(4.0), start=(0,), shape=(4,))
        step.put("u", np.arange(4.0), part=0)
    with runtime.open_dataset(path) as dataset:
        with pytest.raises(TypeError, match="part=|start="):
            dataset[1][name].read(**options)
        with pytest.raises(TypeError, match="part=|start="):
            dataset[1][name].readinto(np.zeros(4), **options)


@pytest.mark.parametrize("dtype", [">f8", "?", "U3", "M8[s]", [("a", "f4")]])
def test_buffer_of_a_type_without_elements_is_refused(runtime, dtype):
    with pytest.raises(forebay.InvalidArgumentError, match="; "):
        runtime.allocate(4, dtype)


def test_adopted_buffer_is_written_without_a_copy(runtime, path):
    buffer = runtime.allocate((256, 1024), "f8")
    array = np.asarray(buffer)
    array[:] = np.arange(array.size).reshape(array.shape)
    with runtime.create_dataset(path) as dataset:
        with dataset.step(1) as step:
            with pytest.raises(BufferError, match="still use"):
                step.put("u", buffer, part=0, adopt=True)
            del array
            step.put("u", buffer, part=0, adopt=True)
        receipt = step.committed.result()
    refused = runtime.create_dataset(f"{path}.other").step(1)
    with pytest.raises(forebay.ClosedError, match="adopted"):
        refused.put("v", buffer, part=0, adopt=True)
    refused.abort()
    assert (receipt.step, receipt.adopted_bytes, receipt.copied_bytes) == (1, 1 << 21, 0)
    assert read(runtime, path, 1, "u")[255, 1023] == 256 * 1024 - 1


def test_file_is_no_dataset(runtime, tmp_path):
    file = tmp_path / "run.fb"
    file.write_text("a file")
    with pytest.raises(forebay.NotFoundError, match="a dataset is a directory"):
        runtime.open_dataset(file)
    with pytest.raises(FileExistsError, match="a dataset is a directory"):
        runtime.create_dataset(file)
    assert file.read_text() == "a file"


def test_field_becomes_an_array(runtime, path):
    with runtime.create_dataset(path) as dataset, dataset.step(1) as step:
        step.put("u", np.arange(6.0).reshape(2, 3), start=(0, 0), shape=(2, 3))
        step.put("v", np.zeros(3), part=0)
    with runtime.open_dataset(path) as dataset:
        field = dataset[1]["u"]
        assert np.asarray(field).tolist() == [[0, 1, 2], [3, 4, 5]]
        assert np.array(field, dtype="f4").dtype == np.float32
        with pytest.raises(ValueError, match="copy"):
            np.array(field, copy=False)
        with pytest.raises(TypeError, match="parts"):
            np.asarray(dataset[1]["v"])
        assert dataset[np.int64(1)].number == dataset.open_step(np.uint32(1)).number == 1
        with pytest.raises(TypeError):
            dataset[1.0]
        with pytest.raises(forebay.NotFoundError, match=r"no step -1; max\(dataset\)"):
            dataset[-1]
        with pytest.raises(forebay.NotFoundError, match="fields of this step: u"):
            dataset[1]["w"]


def test_buffer_of_a_failed_put_is_usable(runtime, path):
    buffer = runtime.allocate((4,), "f8")
    np.asarray(buffer)[:] = 7
    step = runtime.create_dataset(f"{path}.other").step(1)
    with pytest.raises(forebay.InvalidArgumentError):
        step.put("u", buffer, start=[9], shape=[10], adopt=True)
    step.abort()
    assert np.asarray(buffer)[3] == 7
    with runtime.create_dataset(path) as dataset, dataset.step(2) as step:
        step.put("u", buffer, part=0, adopt=True)
    assert read(runtime, path, 2, "u")[3] == 7


def test_commit_is_awaited(runtime, path):
    async def main():
        with runtime.create_dataset(path) as dataset:
            step = dataset.step(1)
            step.put("u", np.zeros(10), part=0)
            receipt = await step.commit()
            return receipt.bytes, dataset.newest_step

    assert asyncio.run(main()) == (80, 1)


def test_exception_in_the_block_aborts_the_step(runtime, path):
    with pytest.raises(ZeroDivisionError), runtime.create_dataset(path) as dataset:
        with dataset.step(1) as step:
            step.put("u", np.zeros(3), part=0)
        with dataset.step(2) as step:
            step.put("u", np.zeros(3), part=0)
            raise ZeroDivisionError
    with runtime.open_dataset(path) as dataset:
        assert (dataset.steps, list(dataset), len(dataset), dataset.newest_step) == ([1], [1], 1, 1)


def test_failed_put_fails_the_dataset(runtime, path):
    dataset = runtime.create_dataset(path)
    with dataset.step(1) as step:
        step.put("u", np.zeros(3), part=0)
        with pytest.raises(forebay.InvalidArgumentError):
            step.put("u", np.zeros((3, 3)), part=1)
    with pytest.raises(forebay.Error):
        dataset.close()


def lose_step(runtime, path):
    dataset = runtime.create_dataset(path)
    with dataset.step(1) as step:
        step.put("u", np.zeros(3), part=0)
        with pytest.raises(forebay.InvalidArgumentError):
            step.put("u", np.zeros((3, 3)), part=1)
    return dataset


def lose_bytes(runtime, path):
    stream = runtime.create_output_stream(access="buffered")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        with pytest.raises(forebay.Error):
            stream.write(stream.create(path), 2 << 20, bytes(1 << 16))
            stream.drain()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    return stream


@pytest.mark.parametrize("lose", [lose_step, lose_bytes])
def test_lost_data_is_an_error_of_the_runtime(path, lose):
    runtime = forebay.Runtime()
    kept = lose(runtime, path)
    with pytest.raises(forebay.Error):
        runtime.close()
    runtime.close()
    with pytest.raises(forebay.Error), forebay.Runtime() as runtime:
        kept = lose(runtime, path.with_name("second.fb"))
    with pytest.raises(ZeroDivisionError), forebay.Runtime() as runtime:
        kept = lose(runtime, path.with_name("third.fb"))
        raise ZeroDivisionError
    del kept


@pytest.mark.parametrize(
    ("data", "options", "error"),
    [
        (np.zeros(4, "?"), {"part": 0}, forebay.InvalidArgumentError),
        (np.zeros(4, ">i4"), {"part": 0}, forebay.InvalidArgumentError),
        (np.zeros(4, "U3"), {"part": 0}, forebay.InvalidArgumentError),
        (np.array([object()]), {"part": 0}, forebay.InvalidArgumentError),
        (np.zeros((2, 2)), {"start": (3, 0), "shape": (4, 4)}, forebay.Error),
        (np.zeros(4), {}, TypeError),
        (np.zeros(4), {"part": 0, "start": (0,), "shape": (4,)}, TypeError),
        (np.zeros(4), {"part": -1}, TypeError),
        (np.zeros(4), {"part": 0, "adopt": True}, TypeError),
        ([1.0, 2.0], {"part": 0}, forebay.InvalidArgumentError),
    ],
)
def test_unsuitable_data_is_refused(runtime, path, data, options, error):
    dataset = runtime.create_dataset(path)
    step = dataset.step(1)
    with pytest.raises(error):
        step.put("u", data, **options)
    step.abort()


@pytest.mark.parametrize(
    ("data", "remedy"),
    [
        ("text", "encode"),
        ([1.0], "asarray"),
        (None, "asarray"),
        (np.zeros(2, "M8[s]"), "view"),
        (np.zeros(2, "m8[ms]"), "view"),
        (np.zeros(2, "U3"), r"char\.encode"),
        (np.zeros(2, "S3"), "view"),
        (np.zeros(2, "g"), "astype"),
        (np.zeros(2, "G"), "c16"),
        (np.zeros(2, "?"), "view"),
        (np.zeros(2, ">f8"), "newbyteorder"),
        (np.zeros(2, [("a", "f4")]), r"array\['name'\]"),
        (np.array([None]), "astype"),
    ],
)
def test_refused_data_names_its_conversion(runtime, path, data, remedy):
    step = runtime.create_dataset(path).step(1)
    with pytest.raises(forebay.InvalidArgumentError, match="; .*" + remedy):
        step.put("u", data, part=0)
    with pytest.raises(forebay.InvalidArgumentError, match=remedy):  # never without the data
        step.commit().result()


def test_plan_of_numpy_scalars_is_a_plan(runtime, path):
    plan = {"strategy": "serial", "retained_steps": np.int64(3)}
    with runtime.create_dataset(path, plan=plan) as dataset:
        assert "retained_steps = 3" in dataset.plan
    with pytest.raises(forebay.InvalidArgumentError, match="codec"):
        runtime.create_dataset(path.with_name("b.fb"), plan={"codec": np.True_})


@pytest.mark.parametrize("value", [None, [1], {}, np.zeros(2)])
def test_unsuitable_value_of_a_plan_names_its_key(runtime, path, value):
    with pytest.raises(forebay.InvalidArgumentError, match="'codec' is .*; pass"):
        runtime.create_dataset(path, plan={"codec": value})


def test_refused_calls_name_arguments_of_python(runtime, path):
    write(runtime, path, 1, u=np.arange(6.0))
    with runtime.open_dataset(path) as dataset:
        field = dataset[1]["u"]
        with pytest.raises(forebay.InvalidArgumentError, match="float64.*int32; pass an array"):
            field.readinto(np.zeros(6, "i4"), part=0)
        raw = bytearray(48)
        assert field.readinto(raw, part=0).result() == 48
        assert raw == np.arange(6.0).tobytes()
    with runtime.create_output_stream() as stream:
        buffer = stream.acquire().result()
        file = stream.create(path.with_name("out"))
        for offset, size in (("0", 1), (0, "1"), (-1, 1)):
            with pytest.raises(TypeError, match="numbers of bytes"):
                stream.submit(buffer, file, offset, size)
        buffer.release()
    with pytest.raises(forebay.ClosedError, match="; open it again"):
        stream.drain()


def test_plans_are_names_dicts_and_files(runtime, tmp_path):
    (tmp_path / "plan.toml").write_text('codec = "zstd"\n')
    plans = [{"strategy": "serial", "codec": "zstd", "memory_bytes": "16MiB"}, "serial"]
    for number, plan in enumerate([*plans, str(tmp_path / "plan.toml")]):
        with runtime.create_dataset(tmp_path / f"{number}.fb", plan=plan) as dataset:
            assert ("zstd" in dataset.plan) == (plan != "serial")
    with pytest.raises(forebay.InvalidArgumentError, match="brigade"):
        runtime.create_dataset(tmp_path / "x.fb", plan="fastest")
    with pytest.raises(forebay.InvalidArgumentError, match="writters"):
        runtime.create_dataset(tmp_path / "x.fb", plan={"writters": 3})


def test_existing_steps_are_kept(runtime, path):
    write(runtime, path, 1, u=np.zeros(1))
    with pytest.raises(FileExistsError):
        runtime.create_dataset(path)
    with runtime.open_dataset(path) as dataset:
        step = dataset.open_step(1)
        assert "u" in step
        assert "v" not in step
        with pytest.raises(KeyError, match="run.fb: .*fields of this step: u"):
            step["v"]
        with pytest.raises(KeyError):
            dataset[2]
        assert (step.errors, dataset.errors) == ([], [])


def test_steps_of_a_closed_runtime_raise(path):
    runtime = forebay.Runtime()
    dataset = runtime.create_dataset(path)
    step = dataset.step(1)
    runtime.close()
    with pytest.raises(forebay.Error):
        step.put("u", np.zeros(3), part=0)
        step.commit().result(60)
    with pytest.raises(forebay.ClosedError):
        dataset.step(2)


def test_stream_writes_files(runtime, tmp_path):
    values = np.arange(100000.0)
    with runtime.create_output_stream(buffer_bytes="64 KiB") as stream:
        file = stream.create(tmp_path / "out", expected_bytes=values.nbytes + 8, publish=True)
        stream.write(file, 0, values)
        buffer = stream.acquire().result()
        array = np.frombuffer(buffer, "u1")
        array.flags.writeable = True
        array[:8] = 5
        with pytest.raises(BufferError):
            stream.submit(buffer, file, values.nbytes, 8)
        del array
        stream.submit(buffer, file, values.nbytes, 8)
        with pytest.raises(forebay.ClosedError):
            stream.submit(buffer, file, 0)
        assert not (tmp_path / "out").exists()
        file.publish()
        assert stream.report["bytes"] == values.nbytes + 8
    assert (tmp_path / "out").read_bytes() == values.tobytes() + bytes([5] * 8)


def test_exception_in_the_block_cancels_the_stream(runtime, tmp_path):
    with pytest.raises(ZeroDivisionError), runtime.create_output_stream() as stream:
        stream.create(tmp_path / "out", publish=True)
        raise ZeroDivisionError
    with pytest.raises(forebay.ClosedError):
        stream.drain()
    assert list(tmp_path.iterdir()) == []


def test_attributes_are_restored(runtime, path):
    values = {
        "time": 0.5,
        "steps": np.int16(7),
        "box": np.arange(6.0).reshape(2, 3),
        "title": "flow \N{GREEK SMALL LETTER ALPHA}",
        "labels": ["a", "bc"],
        "fortran": np.asfortranarray([[1, 2], [3, 4]]),
    }
    with runtime.create_dataset(path) as dataset:
        dataset.set_attributes({"code": "solver"})
        with dataset.step(1) as step:
            step.put("u", np.zeros(3), part=0)
            step.set_attributes(values)
            step.set_attributes({"units": "m"}, field="u")
    with runtime.open_dataset(path) as dataset:
        found = dataset[1].attrs
        assert (dataset.attrs, dataset[1]["u"].attrs) == ({"code": "solver"}, {"units": "m"})
    assert sorted(found) == sorted(values)
    for name, value in values.items():
        np.testing.assert_array_equal(found[name], value)
    assert found["steps"].dtype == np.int16


UNSUITABLE = [b"a", [b"a"], np.array(["a"]), [[1], [2, 3]], True, None, {"a": 1}, ["a", 1]]


@pytest.mark.parametrize("value", [*UNSUITABLE, np.zeros(2, ">f4"), np.longdouble(1), "a\0b"])
def test_unsuitable_attribute_is_refused(runtime, path, value):
    step = runtime.create_dataset(path).step(1)
    with pytest.raises(forebay.InvalidArgumentError):
        step.set_attributes({"x": value})
    with pytest.raises(forebay.InvalidArgumentError, match=r"3 is no name.*str\(name\)"):
        step.set_attributes({3: 4})
    step.abort()
