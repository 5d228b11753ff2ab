# SPDX-License-Identifier: Apache-2.0
"""Chunks of Zarr that cover the blocks of an array: all of one shape, in a regular grid."""

import contextlib
import math
import os
from collections.abc import Iterator

from forebay.view.places import Array, Block

CHUNKS_MAX = 1_000_000  # of one array; references need about 100 bytes each


class NoGridError(Exception):
    """The blocks of an array cannot be chunks of Zarr."""


def layout_of(array: Array) -> tuple[tuple, str]:
    """The shape of all chunks, and how they are stored."""
    encodings = {block.encoding for block in array.blocks if block.segments} or {"none"}
    encoding = encodings.pop()
    if encodings or encoding == "mixed":
        if array.head["kind"] == "parts":
            raise NoGridError(f"pieces of part {array.path[1]} are stored in different ways")
        raise NoGridError("its blocks are stored in different ways")
    first = int(array.has_step_axis)
    shape = array.shape[first:]
    if not math.prod(shape) or not array.blocks:
        return (1,) * first + shape, encoding
    steps: dict[tuple, list[Block]] = {}
    for block in array.blocks:
        steps.setdefault(block.start[:first], []).append(block)
    boxes = [
        [(block.start[first:], block.count[first:]) for block in own] for own in steps.values()
    ]
    return (1,) * first + find_chunk(shape, boxes, encoding == "none"), encoding


def find_chunk(shape: tuple, steps: list[list[tuple]], may_split: bool) -> tuple:
    """The shape of chunks that cover an array in each of `steps`, which are lists of boxes: start
    and count. The last chunks along the first dimension may pass its end. If `may_split`, boxes may
    become several chunks along the first dimension."""
    origin = (0,) * len(shape)
    chunk = next((count for start, count in steps[0] if start == origin), None)
    if chunk is None:
        raise NoGridError("no block has the first element")
    if not shape:
        return chunk
    try:
        return _check_chunk(shape, steps, chunk, may_split=False)
    except NoGridError:
        if not may_split:
            raise
        rows = math.gcd(shape[0], *(start[0] for boxes in steps for start, _count in boxes))
        with contextlib.suppress(NoGridError):
            return _check_chunk(shape, steps, (rows, *chunk[1:]), may_split=True)
        raise


def _check_chunk(shape: tuple, steps: list[list[tuple]], chunk: tuple, may_split: bool) -> tuple:
    chunks = math.prod(-(-extent // n) for extent, n in zip(shape, chunk, strict=True))
    if chunks > CHUNKS_MAX:
        raise NoGridError(f"the array would have more than {CHUNKS_MAX} chunks")
    for boxes in steps:
        found = 0
        for start, count in boxes:
            rows = min(chunk[0], shape[0] - start[0])
            is_split = may_split and count[0] % chunk[0] == 0
            fits = count[1:] == chunk[1:] and (count[0] == rows or is_split)
            if not fits or any(a % n for a, n in zip(start, chunk, strict=True)):
                raise NoGridError(
                    f"the block at {start} has {count} elements, the first one {chunk}"
                )
            found += -(-count[0] // chunk[0])
        if found != chunks:
            raise NoGridError(f"{chunks - found} of {chunks} blocks are missing")
    return chunk


def chunks_of(array: Array, block: Block, chunk: tuple, encoding: str) -> Iterator[tuple]:
    """Start and place of each chunk of a block. Without a codec, a chunk at the end of the array
    may extend into the bytes that follow in the file; readers ignore these."""
    if not block.segments:
        return
    ((path, offset, stored),) = block.segments
    d = int(array.has_step_axis)
    size = math.prod(chunk) * int(array.head["dtype"][2:])
    if block.count == chunk or not block.count[d:]:
        yield block.start, [path, offset, stored]
        return
    if encoding != "none":
        raise NoGridError(
            "the last blocks are shorter than the others, but all chunks must have one size"
        )
    for i in range(-(-block.count[d] // chunk[d])):
        start = (*block.start[:d], block.start[d] + i * chunk[d], *block.start[d + 1 :])
        if offset + (i + 1) * size > os.path.getsize(path):
            raise NoGridError(
                "the last blocks are shorter than the others, but all chunks must have one size"
            )
        yield start, [path, offset + i * size, size]
