# SPDX-License-Identifier: Apache-2.0
"""Storage of torch.distributed.checkpoint (DCP) in Forebay's datasets.

A checkpoint directory has a dataset `rank-N` for each rank, whose steps have the tensors that this
rank has saved, and the dataset `metadata`. A step of `metadata` is published last, by the
coordinator: it makes a checkpoint visible, completely or not at all. docs/guides/torch.md describes
the use.
"""

import collections
import contextlib
import dataclasses
import io
import math
import os
import pathlib
import pickle
import time

import numpy
import torch
from torch.distributed.checkpoint.metadata import Metadata
from torch.distributed.checkpoint.planner import LoadItemType, WriteItemType
from torch.distributed.checkpoint.storage import StorageReader, StorageWriter, WriteResult

import forebay
from forebay import node_exchange
from forebay.node_exchange import Deadline

TABLES = "metadata"  # the dataset, and its field
IN_FLIGHT_BYTES_MAX = 1 << 30  # that a rank reads at a time, and that it holds for other ranks
# Integers that represent elements of a type that NumPy lacks, by size.
CARRIERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class ForebayStorageWriter(StorageWriter):
    """Saves checkpoints: dcp.save(state, storage_writer=ForebayStorageWriter("checkpoints")).

    Each save adds a step. `step` is its number, larger than all before; by default the next one. A
    rank raises LimitError, which DCP passes to all ranks, if it waits longer than `timeout_s`: for
    memory while it puts tensors, and then until they are durable. `plan` is a dict of values of a
    plan. It cannot set `step_timeout_ms`, which is `timeout_s`, nor `retained_steps`: ranks would
    drop the steps of a complete checkpoint before the next one is complete.
    """

    def __init__(self, path, *, step=None, timeout_s=600.0, plan=None):
        super().__init__()
        refused = {
            "retained_steps": "remove directories of old checkpoints",
            "step_timeout_ms": "pass timeout_s",
        }
        for name in refused.keys() & (plan or {}):
            raise forebay.InvalidArgumentError(f"save {path}: the plan has {name}; {refused[name]}")
        self.checkpoint_id = pathlib.Path(path)
        self._step = step
        self._timeout_s = timeout_s
        self._plan = {**(plan or {}), "step_timeout_ms": max(1, round(1000 * timeout_s))}

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id) -> bool:
        return "://" not in os.fspath(checkpoint_id)

    def reset(self, checkpoint_id=None):
        if checkpoint_id is not None:
            self.checkpoint_id = pathlib.Path(checkpoint_id)

    def set_up_storage_writer(self, is_coordinator, *_args, use_collectives=True, **_kwargs):
        if not use_collectives:
            raise forebay.UnsupportedError("save a checkpoint: it needs use_collectives=True")
        self.checkpoint_id.mkdir(parents=True, exist_ok=True)

    def prepare_local_plan(self, plan):
        return plan

    def prepare_global_plan(self, plans):
        return [
            dataclasses.replace(plan, storage_data=f"rank-{rank}")
            for rank, plan in enumerate(plans)
        ]

    def write_data(self, plan, planner):
        results = []

        def put_items(step):
            for item in plan.items:
                size = _put(step, item, planner.resolve_data(item))
                results.append(WriteResult(item.index, size, (plan.storage_data, step.number)))

        if plan.items:
            self._write_step(plan.storage_data, None, put_items)
        return _completed(results)

    def finish(self, metadata: Metadata, results):
        metadata.storage_data = {one.index: one.storage_data for some in results for one in some}
        tables = pickle.dumps(metadata)
        self._write_step(TABLES, self._step, lambda step: step.put(TABLES, tables, part=0))

    def _write_step(self, name, number, put):
        path = self.checkpoint_id / name
        with (
            forebay.Runtime() as runtime,
            runtime.create_dataset(path, append=True, plan=self._plan) as dataset,
        ):
            newest = dataset.newest_step
            next_step = 0 if newest is None else newest + 1
            with dataset.step(next_step if number is None else number) as step:
                put(step)
            step.committed.result()  # which the step timeout ends


class ForebayStorageReader(StorageReader):
    """Loads checkpoints: dcp.load(state, storage_reader=ForebayStorageReader("checkpoints")).

    `step` is that of the writer; by default the newest. A tensor, or a part of one, that several
    ranks of a node load is read by one of them. A rank raises TimeoutError after `timeout_s`. All
    ranks raise an Error if they find different newest checkpoints, as while one is saved. Like
    DCP's own readers it unpickles the metadata: load only checkpoints that you trust.
    """

    def __init__(self, path, *, step=None, timeout_s=600.0):
        super().__init__()
        self.checkpoint_id = pathlib.Path(path)
        self._step = step
        self._timeout_s = timeout_s
        self._number = None  # of the checkpoint that is loaded
        self.locations = {}
        self.types = {}

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id) -> bool:
        return (pathlib.Path(checkpoint_id) / TABLES).is_dir()

    def reset(self, checkpoint_id=None):
        if checkpoint_id is not None:
            self.checkpoint_id = pathlib.Path(checkpoint_id)

    def read_metadata(self, *_args, **_kwargs) -> Metadata:
        path = self.checkpoint_id / TABLES
        with forebay.Runtime() as runtime, runtime.open_dataset(path) as dataset:
            number = dataset.newest_step if self._step is None else self._step
            if number is None:
                raise forebay.NotFoundError(f"load {path}: no checkpoint is complete")
            reading = dataset[number][TABLES].read(part=0)
            tables = Deadline(self._timeout_s).wait(reading, f"load {path}")
        self._number = number
        return pickle.loads(tables.tobytes())

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator, *_args, **_kwargs):
        self.locations = metadata.storage_data
        self.types = {
            name: one.properties.dtype
            for name, one in metadata.state_dict_metadata.items()
            if hasattr(one, "properties")
        }

    def prepare_local_plan(self, plan):
        return dataclasses.replace(plan, storage_data=(node_exchange.node_key(), self._number))

    def prepare_global_plan(self, plans):
        found = sorted({plan.storage_data[1] for plan in plans})
        if len(found) > 1:
            numbers = " and ".join(map(str, found))
            raise forebay.InvalidArgumentError(
                f"load {self.checkpoint_id}: ranks found checkpoints {numbers}; pass step="
            )
        return _share_reads(plans)

    def read_data(self, plan, planner):
        with forebay.Runtime() as runtime:
            _Load(self, runtime, plan, planner).run(Deadline(self._timeout_s))
        return _completed(None)


@dataclasses.dataclass
class SharedReads:
    """The reads of a rank that concern other ranks of its node. Keys are those of _key()."""

    token: str
    rank: int
    numbers: dict = dataclasses.field(default_factory=dict)
    receivers: dict = dataclasses.field(default_factory=dict)  # of what this rank reads
    received: set = dataclasses.field(default_factory=set)  # what other ranks read


class _Load:
    """A load in progress on one rank."""

    def __init__(self, reader, runtime, plan, planner):
        self._reader = reader
        self._runtime = runtime
        self._planner = planner
        self._steps = {}
        self._items = collections.defaultdict(list)  # that one read fills
        for item in plan.items:
            self._items[_key(item)].append(item)
        self._shared = plan.storage_data
        self._exchange = node_exchange.NodeExchange(self._shared.token, self._shared.rank)

    def run(self, deadline):
        own = collections.deque(self._shared.receivers)
        try:
            self._share(own, deadline)
            self._read_alone(deadline)
        finally:
            for key in own:  # after a failure
                with contextlib.suppress(OSError):
                    self._publish(key, b"")
            self._exchange.close()

    def _share(self, own, deadline):
        """Reads for other ranks, and receives what they read, in the order in which it arrives."""
        expected = set(self._shared.received)
        while own or expected:
            deadline.check(f"load {self._reader.checkpoint_id} with other ranks of the node")
            if own and self._exchange.unreceived_bytes() < IN_FLIGHT_BYTES_MAX:
                self._read_for_others(own[0], deadline)
                own.popleft()
            elif not self._receive(expected):
                time.sleep(node_exchange.POLL_INTERVAL_S)

    def _read_for_others(self, key, deadline):
        array, future = self._begin_read(key)
        deadline.wait(future, f"load {key[0]}")
        self._publish(key, memoryview(array.reshape(-1).view("u1")))
        self._fill(key, array)

    def _publish(self, key, block):
        self._exchange.publish(self._shared.numbers[key], block, self._shared.receivers[key])

    def _receive(self, expected) -> bool:
        """Takes what has arrived, and removes it from the set. False if nothing has."""
        arrived = []
        for key in expected:
            block = self._exchange.receive(self._shared.numbers[key])
            if block is None:
                continue
            if not block:
                raise forebay.StorageError(f"load {key[0]}: the rank that reads it has failed")
            field, box = self._field(key)
            array = numpy.frombuffer(block, field.dtype if box else "u1")
            self._fill(key, array.reshape(box["count"] if box else -1))
            arrived.append(key)
        expected.difference_update(arrived)
        return bool(arrived)

    def _read_alone(self, deadline):
        reads, in_flight = collections.deque(), 0
        shared = self._shared.numbers
        for key in (key for key in self._items if key not in shared):
            reads.append((key, *self._begin_read(key)))
            in_flight += reads[-1][1].nbytes
            while in_flight > IN_FLIGHT_BYTES_MAX:
                in_flight -= self._finish_read(*reads.popleft(), deadline)
        for read in reads:
            self._finish_read(*read, deadline)

    def _finish_read(self, key, array, future, deadline) -> int:
        if future:
            deadline.wait(future, f"load {key[0]}")
        self._fill(key, array)
        return array.nbytes

    def _field(self, key):
        """The field, and for tensors the box that the items load."""
        item = self._items[key][0]
        name, number = self._reader.locations[item.storage_index]
        if (name, number) not in self._steps:
            dataset = self._runtime.open_dataset(self._reader.checkpoint_id / name)
            self._steps[name, number] = dataset[number]
        box = None
        if item.type != LoadItemType.BYTE_IO:
            first = zip(item.storage_index.offset, item.storage_offsets, strict=True)
            box = {
                "start": tuple(chunk + inside for chunk, inside in first) or (0,),
                "count": tuple(item.lengths) or (1,),
            }
        return self._steps[name, number][key[0]], box

    def _begin_read(self, key):
        """The array that the read fills, and its future; None if there is nothing to read."""
        if _size(self._items[key][0]) == 0:
            return numpy.empty(tuple(self._items[key][0].lengths), "u1"), None
        field, box = self._field(key)
        if box:
            array = numpy.empty(box["count"], field.dtype)
            return array, field.readinto(array, **box)
        array = numpy.empty(field.part_shape(0), "u1")
        return array, field.readinto(array, part=0)

    def _fill(self, key, array):
        for item in self._items[key]:
            if item.type == LoadItemType.BYTE_IO:
                self._planner.load_bytes(item, io.BytesIO(array.tobytes()))
                continue
            target = self._planner.resolve_tensor(item).detach()
            dtype = self._reader.types[item.storage_index.fqn]
            source = torch.from_numpy(array)
            source = source if source.dtype == dtype or array.size == 0 else source.view(dtype)
            target.copy_(source.reshape(target.shape))
            self._planner.commit_tensor(item, target)


def _key(item):
    """Equal for items that load the same bytes."""
    index = item.storage_index
    if item.type == LoadItemType.BYTE_IO:
        return (index.fqn, None)
    return (index.fqn, tuple(index.offset), tuple(item.storage_offsets), tuple(item.lengths))


def _size(item) -> int:
    """Number of elements; 1 for bytes, whose size is in the dataset."""
    return 1 if item.type == LoadItemType.BYTE_IO else math.prod(item.lengths)


def _share_reads(plans):
    """Assigns each read that several ranks of a node need to the one that has the least."""
    token = node_exchange.new_token()
    shared = [SharedReads(token, rank) for rank in range(len(plans))]
    ranks, sizes = collections.defaultdict(set), {}
    for rank, plan in enumerate(plans):
        for item in plan.items:
            if plan.storage_data[0] and _size(item) > 0:
                ranks[plan.storage_data, _key(item)].add(rank)
                sizes[_key(item)] = _size(item)
    assigned = [0] * len(plans)
    for number, ((_, key), group) in enumerate(ranks.items()):
        if len(group) < 2:
            continue
        reader = min(group, key=lambda rank: (assigned[rank], rank))
        assigned[reader] += sizes[key]
        shared[reader].receivers[key] = sorted(group - {reader})
        for rank in group:
            shared[rank].numbers[key] = number
            if rank != reader:
                shared[rank].received.add(key)
    return [
        dataclasses.replace(plan, storage_data=reads)
        for plan, reads in zip(plans, shared, strict=True)
    ]


def _put(step, item, data) -> int:
    """Puts an item as a field. Returns its bytes."""
    name = item.index.fqn
    if item.type == WriteItemType.BYTE_IO:
        step.put(name, data.getbuffer(), part=0)
        return data.getbuffer().nbytes
    array = _array_of(data)
    chunk, size = item.tensor_data.chunk, item.tensor_data.size
    if array.size > 0:
        box = {"start": tuple(chunk.offsets) or (0,), "shape": tuple(size) or (1,)}
        step.put(name, array.reshape(tuple(chunk.sizes) or (1,)), **box)
    return array.nbytes


def _array_of(tensor):
    """The elements of a tensor as an array of an element type."""
    tensor = tensor.detach().cpu().contiguous()
    try:
        array = tensor.numpy()
    except TypeError:  # a type that NumPy lacks
        array = tensor.view(CARRIERS[tensor.element_size()]).numpy()
    return array.view("u1") if array.dtype == bool else array


def _completed(value):
    future = torch.futures.Future()
    future.set_result(value)
    return future
