# SPDX-License-Identifier: Apache-2.0
"""The part of torch that forebay.torch_checkpoint uses, over NumPy, for machines without torch.

Shapes and names are those of torch 2.15. The same tests run with torch itself where it is
installed.
"""

import dataclasses
import enum
import importlib.machinery
import sys
import types
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class DType:
    name: str
    storage: str  # the NumPy type that holds the elements
    has_numpy: bool = True


TYPES = [
    *(DType(name, name) for name in ("float64", "float32", "int64", "int32", "int16", "uint8")),
    DType("bool", "bool"),
    DType("bfloat16", "int16", has_numpy=False),
]
NATIVE = {one.storage: one for one in TYPES if one.has_numpy}


class Tensor:
    def __init__(self, array: np.ndarray, dtype: DType):
        self.array = array
        self.dtype = dtype

    @property
    def shape(self):
        return self.array.shape

    def detach(self):
        return Tensor(self.array, self.dtype)

    def cpu(self):
        return self

    def contiguous(self):
        return Tensor(np.ascontiguousarray(self.array).reshape(self.shape), self.dtype)

    def element_size(self):
        return self.array.itemsize

    def numpy(self):
        if not self.dtype.has_numpy:
            raise TypeError(f"unsupported type {self.dtype.name}")
        return self.array

    def view(self, dtype):
        return Tensor(self.array.view(dtype.storage), dtype)

    def reshape(self, shape):
        return Tensor(self.array.reshape(shape), self.dtype)

    def copy_(self, source):
        assert source.shape == self.shape
        self.array[...] = source.array
        return self


class Future:
    def set_result(self, value):
        self._value = value

    def wait(self):
        return self._value

    value = wait


class StorageWriter:
    pass


class StorageReader:
    pass


@dataclasses.dataclass(frozen=True)
class WriteResult:
    index: Any
    size_in_bytes: int
    storage_data: Any


@dataclasses.dataclass
class TensorProperties:
    dtype: Any


@dataclasses.dataclass
class ChunkStorageMetadata:
    offsets: Any
    sizes: Any


@dataclasses.dataclass
class TensorStorageMetadata:
    properties: TensorProperties
    size: Any
    chunks: list


@dataclasses.dataclass
class BytesStorageMetadata:
    pass


@dataclasses.dataclass
class Metadata:
    state_dict_metadata: dict
    planner_data: Any = None
    storage_data: Any = None


@dataclasses.dataclass(frozen=True)
class MetadataIndex:
    fqn: str
    offset: Any = None
    index: int | None = dataclasses.field(hash=False, compare=False, default=None)


WriteItemType = enum.Enum("WriteItemType", "TENSOR SHARD BYTE_IO")
LoadItemType = enum.Enum("LoadItemType", "TENSOR BYTE_IO")


@dataclasses.dataclass(frozen=True)
class TensorWriteData:
    chunk: ChunkStorageMetadata
    properties: TensorProperties
    size: Any


@dataclasses.dataclass(frozen=True)
class WriteItem:
    index: MetadataIndex
    type: WriteItemType
    bytes_io_data: Any = None
    tensor_data: TensorWriteData | None = None


@dataclasses.dataclass(frozen=True)
class ReadItem:
    type: LoadItemType
    dest_index: MetadataIndex
    dest_offsets: Any
    storage_index: MetadataIndex
    storage_offsets: Any
    lengths: Any


@dataclasses.dataclass(frozen=True)
class SavePlan:
    items: list
    storage_data: Any = None
    planner_data: Any = None


@dataclasses.dataclass(frozen=True)
class LoadPlan:
    items: list
    storage_data: Any = None
    planner_data: Any = None


# Instances of these are pickled by the names of torch.
PLACES = {
    "torch.distributed.checkpoint.metadata": [
        ChunkStorageMetadata,
        TensorStorageMetadata,
        BytesStorageMetadata,
        Metadata,
        MetadataIndex,
        TensorProperties,
    ],
    "torch.distributed.checkpoint.planner": [
        WriteItemType,
        LoadItemType,
        TensorWriteData,
        WriteItem,
        ReadItem,
        SavePlan,
        LoadPlan,
    ],
    "torch.distributed.checkpoint.storage": [StorageWriter, StorageReader, WriteResult],
    "torch.futures": [Future],
    "torch": [Tensor, DType],
}


def install():
    """Makes `import torch` find these classes."""
    for name in [*PLACES, "torch.distributed", "torch.distributed.checkpoint"]:
        module = sys.modules.setdefault(name, types.ModuleType(name))
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)  # find_spec() requires one
    for name, classes in PLACES.items():
        for one in classes:
            one.__module__, one.__qualname__ = name, one.__name__
            setattr(sys.modules[name], one.__name__, one)
    torch = sys.modules["torch"]
    torch.futures, torch.Size = sys.modules["torch.futures"], tuple
    for one in TYPES:
        setattr(torch, one.name, one)
    torch.from_numpy = lambda array: Tensor(array, NATIVE[array.dtype.name])
