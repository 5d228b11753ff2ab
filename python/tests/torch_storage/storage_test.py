# SPDX-License-Identifier: Apache-2.0
"""The storage interface of torch.distributed.checkpoint, called as its save() and load() do."""

import errno
import importlib.metadata
import importlib.util
import io
import os
import pickle
import time
from concurrent import futures
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.distributed.checkpoint import metadata as tables
from torch.distributed.checkpoint.planner import (
    LoadItemType,
    LoadPlan,
    ReadItem,
    SavePlan,
    TensorWriteData,
    WriteItem,
    WriteItemType,
)

import forebay
from forebay import node_exchange, torch_checkpoint
from forebay.torch_checkpoint import ForebayStorageReader, ForebayStorageWriter

LIMIT_S = 60
WHOLE = np.arange(48, dtype="f4").reshape(8, 6)
NONE = np.zeros((0, 4))


class SavePlanner:
    """Resolves items to the objects of a dict, by name and offset."""

    def __init__(self, values):
        self.values = values

    def resolve_data(self, item):
        return self.values[item.index]


class LoadPlanner:
    """Loads into tensors of a dict, by name."""

    def __init__(self, tensors):
        self.tensors = tensors
        self.loaded = {}
        self.committed = []

    def resolve_tensor(self, item):
        return self.tensors[item.dest_index.fqn]

    def commit_tensor(self, item, _tensor):
        self.committed.append(item.dest_index.fqn)

    def load_bytes(self, item, value):
        self.loaded[item.dest_index.fqn] = value.read()


def size(*extents):
    return torch.Size(extents)


def tensor(array, dtype=None):
    made = torch.from_numpy(np.ascontiguousarray(array))
    return made if dtype is None else made.view(dtype)


def write_item(name, array, start, shape, dtype=torch.float32):
    chunk = tables.ChunkStorageMetadata(size(*start), size(*array.shape))
    properties = tables.TensorProperties(dtype=dtype)
    data = TensorWriteData(chunk, properties, size(*shape))
    index = tables.MetadataIndex(name, size(*start))
    return WriteItem(index, WriteItemType.SHARD, tensor_data=data)


def bytes_item(name):
    return WriteItem(tables.MetadataIndex(name), WriteItemType.BYTE_IO)


def read_item(name, chunk, inside, lengths):
    where = tables.MetadataIndex(name, size(*chunk))
    zeros = size(*(0 for _ in lengths))
    index = tables.MetadataIndex(name)
    return ReadItem(LoadItemType.TENSOR, index, zeros, where, size(*inside), size(*lengths))


def read_bytes_item(name):
    index = tables.MetadataIndex(name)
    return ReadItem(LoadItemType.BYTE_IO, index, size(0), index, size(0), size(0))


def save(path, ranks, **options):
    """Saves lists of (item, value), one for each rank. Returns the metadata."""
    writer = ForebayStorageWriter(path, timeout_s=LIMIT_S, **options)
    writer.reset()
    writer.set_up_storage_writer(True)
    plans = [writer.prepare_local_plan(SavePlan([item for item, _ in items])) for items in ranks]
    results = []
    for plan, items in zip(writer.prepare_global_plan(plans), ranks, strict=True):
        planner = SavePlanner({item.index: value for item, value in items})
        results.append(writer.write_data(plan, planner).wait())
    described = {}
    for item, _ in (pair for items in ranks for pair in items):
        data = item.tensor_data
        described[item.index.fqn] = (
            tables.TensorStorageMetadata(data.properties, data.size, [data.chunk])
            if data
            else tables.BytesStorageMetadata()
        )
    metadata = tables.Metadata(described)
    writer.finish(metadata, results)
    return metadata


def plans_for(reader, ranks):
    """The plans of all ranks after global planning."""
    metadata = reader.read_metadata()
    reader.set_up_storage_reader(metadata, True)
    return reader.prepare_global_plan([reader.prepare_local_plan(LoadPlan(one)) for one in ranks])


def load(path, items, tensors, **options):
    reader = ForebayStorageReader(path, timeout_s=LIMIT_S, **options)
    (plan,) = plans_for(reader, [items])
    planner = LoadPlanner(tensors)
    reader.read_data(plan, planner).wait()
    return planner


def save_halves(path, values=WHOLE, **options):
    halves = [(values[:4], (0, 0)), (values[4:], (4, 0))]
    return save(
        path,
        [[(write_item("w", part, start, (8, 6)), tensor(part))] for part, start in halves],
        **options,
    )


def test_other_tests_can_distinguish_the_stand_in():
    is_installed = any(importlib.metadata.distributions(name="torch"))
    assert (importlib.util.find_spec("torch").origin is not None) == is_installed


def test_shards_of_ranks_are_loaded_by_box(tmp_path):
    save_halves(tmp_path)
    target = np.zeros((2, 3), "f4")
    item = read_item("w", (4, 0), (1, 2), (2, 3))
    planner = load(tmp_path, [item], {"w": tensor(target)})
    assert planner.committed == ["w"]
    found = planner.tensors["w"].numpy()
    np.testing.assert_array_equal(found, WHOLE[5:7, 2:5])


def test_types_without_numpy_scalars_bytes_and_empty_tensors_are_loaded(tmp_path):
    numbers = np.arange(6, dtype="i2")
    flags = np.array([True, False, True])
    pairs = [
        (write_item("half", numbers, (0,), (6,), torch.bfloat16), tensor(numbers, torch.bfloat16)),
        (write_item("flags", flags, (0,), (3,), torch.bool), tensor(flags)),
        (write_item("scalar", np.zeros(()), (), (), torch.float64), tensor(np.full((), 2.5))),
        (write_item("none", NONE, (0, 0), (0, 4), torch.float64), tensor(NONE)),
        (bytes_item("step"), io.BytesIO(b"pickled")),
    ]
    save(tmp_path, [pairs])
    targets = {
        "half": tensor(np.zeros(6, "i2"), torch.bfloat16),
        "flags": tensor(np.zeros(3, bool)),
        "scalar": tensor(np.zeros(())).reshape(()),
        "none": tensor(np.zeros((0, 4))),
    }
    items = [
        read_item("half", (0,), (0,), (6,)),
        read_item("flags", (0,), (0,), (3,)),
        read_item("scalar", (), (), ()),
        read_item("none", (0, 0), (0, 0), (0, 4)),
        read_bytes_item("step"),
    ]
    planner = load(tmp_path, items, targets)
    assert planner.loaded == {"step": b"pickled"}
    assert sorted(planner.committed) == ["flags", "half", "none", "scalar"]
    np.testing.assert_array_equal(planner.tensors["half"].view(torch.int16).numpy(), numbers)
    np.testing.assert_array_equal(planner.tensors["flags"].numpy(), flags)
    assert planner.tensors["scalar"].numpy() == 2.5


def test_newest_or_chosen_step_is_loaded(tmp_path):
    for number in (3, 7):
        save_halves(tmp_path, WHOLE + number, step=number)
    save_halves(tmp_path, WHOLE + 8)
    for step, offset in ((3, 3), (7, 7), (8, 8), (None, 8)):
        target = tensor(np.zeros((4, 6), "f4"))
        load(tmp_path, [read_item("w", (0, 0), (0, 0), (4, 6))], {"w": target}, step=step)
        np.testing.assert_array_equal(target.numpy(), WHOLE[:4] + offset)


def test_unfinished_checkpoint_is_not_visible(tmp_path):
    save_halves(tmp_path)
    writer = ForebayStorageWriter(tmp_path, timeout_s=LIMIT_S)
    writer.set_up_storage_writer(True)
    item = write_item("w", WHOLE, (0, 0), (8, 6))
    (plan,) = writer.prepare_global_plan([SavePlan([item])])
    writer.write_data(plan, SavePlanner({item.index: tensor(WHOLE * -1)}))
    target = tensor(np.zeros((4, 6), "f4"))
    load(tmp_path, [read_item("w", (0, 0), (0, 0), (4, 6))], {"w": target})
    np.testing.assert_array_equal(target.numpy(), WHOLE[:4])


def test_failed_put_saves_nothing(tmp_path):
    writer = ForebayStorageWriter(tmp_path, timeout_s=LIMIT_S)
    writer.set_up_storage_writer(True)
    (plan,) = writer.prepare_global_plan([SavePlan([bytes_item("x")])])
    with pytest.raises(KeyError):
        writer.write_data(plan, SavePlanner({}))
    with pytest.raises(forebay.NotFoundError):
        ForebayStorageReader(tmp_path).read_metadata()


def test_absent_and_foreign_paths_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        ForebayStorageReader(tmp_path / "absent").read_metadata()
    assert not ForebayStorageReader.validate_checkpoint_id(tmp_path)
    assert not ForebayStorageWriter.validate_checkpoint_id("s3://bucket/run")
    with pytest.raises(forebay.UnsupportedError, match="use_collectives"):
        ForebayStorageWriter(tmp_path).set_up_storage_writer(True, rank=0, use_collectives=False)


def run_on_ranks(path, ranks, planners, monkeypatch):
    """Loads on threads, one for each rank. Returns the names of the fields that were read."""
    read, begin = [], torch_checkpoint._Load._begin_read

    def record(self, key):
        read.append(key[0])
        return begin(self, key)

    monkeypatch.setattr(torch_checkpoint._Load, "_begin_read", record)
    reader = ForebayStorageReader(path, timeout_s=LIMIT_S)
    plans = pickle.loads(pickle.dumps(plans_for(reader, ranks)))
    with futures.ThreadPoolExecutor(len(ranks)) as pool:
        list(pool.map(reader.read_data, plans, planners))
    return read


def planners_of(count):
    return [LoadPlanner({"w": tensor(np.zeros((4, 6), "f4"))}) for _ in range(count)]


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """The directory that stands for shared memory."""
    folder = tmp_path / "shm"
    folder.mkdir()
    monkeypatch.setattr(node_exchange, "SHARED_MEMORY", folder)
    return folder


def test_each_byte_is_read_once_on_a_node(tmp_path, shared, monkeypatch):
    path = tmp_path / "checkpoint"
    half = write_item("w", WHOLE[:4], (0, 0), (4, 6))
    save(path, [[(half, tensor(WHOLE[:4])), (bytes_item("step"), io.BytesIO(b"5"))]])
    both = [read_item("w", (0, 0), (0, 0), (4, 6)), read_bytes_item("step")]
    planners = planners_of(3)
    read = run_on_ranks(path, [both] * 3, planners, monkeypatch)
    assert sorted(read) == ["step", "w"]
    for planner in planners:
        np.testing.assert_array_equal(planner.tensors["w"].numpy(), WHOLE[:4])
        assert planner.loaded == {"step": b"5"}
    assert list(shared.iterdir()) == []


class Rows(LoadPlanner):
    """Loads each item into a tensor of its own."""

    def resolve_tensor(self, item):
        lengths = tuple(item.lengths)
        made = tensor(np.zeros(lengths, "f4"))
        return self.tensors.setdefault((item.storage_offsets[0], *lengths), made)


def test_bytes_for_others_are_bounded(tmp_path, shared, monkeypatch):
    monkeypatch.setattr(torch_checkpoint, "IN_FLIGHT_BYTES_MAX", 1)
    save_halves(tmp_path / "checkpoint")
    items = [read_item("w", (0, 0), (row, 0), (rows, 6)) for row, rows in enumerate((4, 3, 2, 1))]
    planners = [Rows({}), Rows({})]
    read = run_on_ranks(tmp_path / "checkpoint", [items, items], planners, monkeypatch)
    assert len(read) == 4
    for planner in planners:
        for row, rows in enumerate((4, 3, 2, 1)):
            found = planner.tensors[row, rows, 6].numpy()
            np.testing.assert_array_equal(found, WHOLE[row : row + rows])


def test_rank_that_never_reads_is_a_timeout(tmp_path, shared):
    save_halves(tmp_path / "checkpoint")
    items = [read_item("w", (0, 0), (0, 0), (4, 6))]
    reader = ForebayStorageReader(tmp_path / "checkpoint", timeout_s=0.2)
    plans = plans_for(reader, [items, items])
    (waiting,) = [plan for plan in plans if plan.storage_data.received]
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match="other ranks of the node"):
        reader.read_data(waiting, LoadPlanner({}))
    assert time.monotonic() - begin < LIMIT_S


def test_failed_reader_fails_its_receivers(tmp_path, shared, monkeypatch):
    path = tmp_path / "checkpoint"
    save_halves(path)
    items = [read_item("w", (0, 0), (0, 0), (4, 6))]

    def fail(*_):
        raise forebay.StorageError("read: the device failed")

    monkeypatch.setattr(torch_checkpoint._Load, "_begin_read", fail)
    reader = ForebayStorageReader(path, timeout_s=LIMIT_S)
    plans = plans_for(reader, [items, items])
    for plan in sorted(plans, key=lambda one: len(one.storage_data.received)):
        with pytest.raises(forebay.StorageError, match="failed"):
            reader.read_data(plan, LoadPlanner({}))
    assert list(shared.iterdir()) == []


def test_full_shared_memory_fails_all_ranks(tmp_path, shared, monkeypatch):
    path = tmp_path / "checkpoint"
    save_halves(path)
    link, calls = os.link, []

    def fail_once(source, target):
        calls.append(target)
        if len(calls) == 1:
            raise OSError(errno.ENOSPC, "No space left on device", str(target))
        link(source, target)

    monkeypatch.setattr(node_exchange.os, "link", fail_once)
    items = [read_item("w", (0, 0), (0, 0), (4, 6))]
    reader = ForebayStorageReader(path, timeout_s=LIMIT_S)
    plans = plans_for(reader, [items, items])
    errors = []
    for plan in sorted(plans, key=lambda one: len(one.storage_data.received)):
        with pytest.raises(OSError) as caught:
            reader.read_data(plan, planners_of(1)[0])
        errors.append(str(caught.value))
    assert "No space left" in errors[0]
    assert "the rank that reads it has failed" in errors[1]
    assert list(shared.iterdir()) == []


def test_plan_cannot_drop_steps(tmp_path):
    with pytest.raises(forebay.InvalidArgumentError, match="retained_steps"):
        ForebayStorageWriter(tmp_path, plan={"retained_steps": 1})


def test_plan_cannot_set_the_step_timeout(tmp_path):
    with pytest.raises(forebay.InvalidArgumentError, match="step_timeout_ms; pass timeout_s"):
        ForebayStorageWriter(tmp_path, plan={"step_timeout_ms": 1})


class LateFuture:
    """A commit that fails at the step timeout, as its coordinator ends it."""

    def __init__(self, timeout_s):
        self.timeout_s = timeout_s

    def result(self, limit_s=None):
        if limit_s is not None and limit_s <= self.timeout_s:
            raise TimeoutError
        raise forebay.LimitError("commit step 0: not complete")


def test_save_that_is_not_durable_is_a_limit_error(tmp_path, monkeypatch):
    timeout_s = 0.5
    late = property(lambda _step: LateFuture(timeout_s))
    monkeypatch.setattr(forebay.StepWriter, "committed", late)
    writer = ForebayStorageWriter(tmp_path, timeout_s=timeout_s)
    writer.set_up_storage_writer(True)
    item = bytes_item("x")
    (plan,) = writer.prepare_global_plan([SavePlan([item])])
    with pytest.raises(forebay.LimitError, match="not complete"):
        writer.write_data(plan, SavePlanner({item.index: io.BytesIO(b"5")}))


def test_ranks_that_find_different_checkpoints_load_none(tmp_path):
    items = [read_item("w", (0, 0), (0, 0), (4, 6))]
    plans = []
    for number in (1, 2):
        save_halves(tmp_path, WHOLE + number, step=number)
        reader = ForebayStorageReader(tmp_path, timeout_s=LIMIT_S)
        reader.set_up_storage_reader(reader.read_metadata(), number == 1)
        plans.append(reader.prepare_local_plan(LoadPlan(items)))
    with pytest.raises(forebay.Error, match=r"ranks found checkpoints 1 and 2; pass step="):
        reader.prepare_global_plan(plans)


def test_block_is_published_while_another_process_removes_the_folder(shared, monkeypatch):
    exchange = node_exchange.NodeExchange("token", 0)
    mkdir, calls = Path.mkdir, []

    def remove_first(path, **options):
        mkdir(path, **options)
        calls.append(path)
        if len(calls) == 1:
            path.rmdir()

    monkeypatch.setattr(node_exchange.pathlib.Path, "mkdir", remove_first)
    exchange.publish(3, b"block", [1])
    receiver = node_exchange.NodeExchange("token", 1)
    assert receiver.receive(3) == b"block"
    receiver.close()
    exchange.close()
    assert list(shared.iterdir()) == []


def test_exchange_is_closed_while_another_process_removes_the_folder(shared, monkeypatch):
    exchange = node_exchange.NodeExchange("token", 0)
    exchange.publish(3, b"block", [1])

    def remove(path, _pattern):
        for file in path.iterdir():
            file.unlink()
        path.rmdir()
        raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))

    monkeypatch.setattr(node_exchange.pathlib.Path, "glob", remove)
    exchange.close()
    assert list(shared.iterdir()) == []


def test_rank_without_data_writes_nothing(tmp_path):
    item = write_item("w", WHOLE, (0, 0), (8, 6))
    save(tmp_path, [[(item, tensor(WHOLE))], []])
    assert sorted(one.name for one in tmp_path.iterdir()) == ["metadata", "rank-0"]


def test_ranks_without_shared_memory_read_for_themselves(tmp_path, monkeypatch):
    monkeypatch.setattr(node_exchange, "SHARED_MEMORY", tmp_path / "absent")
    save_halves(tmp_path / "checkpoint")
    items = [read_item("w", (0, 0), (0, 0), (4, 6))]
    planners = planners_of(2)
    read = run_on_ranks(tmp_path / "checkpoint", [items, items], planners, monkeypatch)
    assert read == ["w", "w"]
    for planner in planners:
        np.testing.assert_array_equal(planner.tensors["w"].numpy(), WHOLE[:4])
