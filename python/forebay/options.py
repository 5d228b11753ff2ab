# SPDX-License-Identifier: Apache-2.0
"""Types of the keyword arguments of calls. None, or an absent argument: the default.

Sizes are numbers of bytes, or texts such as "64 MiB".
"""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

Size = int | str
Access = Literal["buffered", "direct"]


class RuntimeOptions(TypedDict, total=False):
    """Of Runtime(); docs/guides/python.md describes them."""

    budget_bytes: Size
    machine: str
    hints: str
    learned_hints: str
    trace: str
    network: str
    profile: str
    copy_threads: int
    placement: Literal["in-rank", "dedicated"]
    backend: Literal["auto", "io_uring", "threads", "aio"]


class SessionOptions(TypedDict, total=False):
    """Of Runtime.open_session() and Runtime.open()."""

    offset: int
    size: int
    on_demand: bool
    reread: bool
    access: Access
    budget_bytes: Size
    readahead_bytes: Size
    tune: bool
    request_bytes: Size
    queue_depth: int
    splinter_bytes: Size


class ArrayOptions(TypedDict, total=False):
    """Of Session.read_array(): a block of the array, and where and how the file stores it."""

    start: Sequence[int]
    count: Sequence[int]
    offset: int
    order: Literal["C", "F"]


class DatasetOptions(TypedDict, total=False):
    """Of Runtime.create_dataset(). `plan` is a strategy, the path of a TOML file, or a dict."""

    append: bool
    plan: str | dict[str, Any]
    tune: bool
    profile: str


class ReaderOptions(TypedDict, total=False):
    """Of Runtime.open_dataset()."""

    verify: bool
    concurrent_readers_max: int


class PutOptions(TypedDict, total=False):
    """Of StepWriter.put()."""

    part: int
    start: Sequence[int]
    shape: Sequence[int]
    adopt: bool


class ReadOptions(TypedDict, total=False):
    """Of Field.read() and Field.readinto()."""

    part: int
    parts: Sequence[int]
    first_element: int
    elements: int
    start: Sequence[int]
    count: Sequence[int]
    fill: Any


class StreamOptions(TypedDict, total=False):
    """Of Runtime.create_output_stream()."""

    access: Access
    buffer_bytes: Size
    buffers: int
    request_bytes: Size
    queue_depth: int
    in_flight_bytes: Size


class FileOptions(TypedDict, total=False):
    """Of OutputStream.create()."""

    expected_bytes: Size
    publish: bool
    keep: bool


class Pipeline(TypedDict, total=False):
    """Of gain(): seconds to compute and to write one buffer, and numbers of each."""

    compute_s: float
    write_s: float
    count: int
    buffers: int
    devices: int
