# SPDX-License-Identifier: Apache-2.0
"""What tools/dataset/samples.cpp writes."""

import numpy

TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
         "float32", "float64", "complex64", "complex128", "bytes")  # fmt: skip

UNICODE = "Größe 速度%2Fx"


def patterned(name: str, part: int, shape: tuple, order: str = "<"):
    """The values of a part of types.fb, as dataset_samples writes them."""
    dtype = numpy.dtype("uint8" if name == "bytes" else name).newbyteorder(order)
    count = int(numpy.prod(shape, dtype=int)) * dtype.itemsize
    place = 1000 * (TYPES.index(name) + 1) + 100 * part + numpy.arange(count)
    pattern = (37 * place + 11) % 64 + 128 * (place % 5 == 0)
    return pattern.astype("u1").view(dtype).reshape(shape)


def expected(step: int, part: int, dtype: str, dimensions: int):
    """The values of a part, as dataset_samples writes them."""
    rows = 0 if part == 1 else 100 + 37 * part
    shape = (rows,) if dimensions == 1 else (rows, 3)
    values = step * 1000 + part + numpy.arange(numpy.prod(shape)) / 8
    return values.astype(dtype).reshape(shape)
