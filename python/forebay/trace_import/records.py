# SPDX-License-Identifier: Apache-2.0
"""Entries of the files of records that native tools read and write: 56 bytes, little endian."""

import struct
from typing import NamedTuple

NUMBER_MAX = 2**63 - 1  # of offset + size, and of times
DURATION_NS_MAX = 2**32 - 1
OPERATIONS = ("open", "read", "write", "close", "sync", "seek")
COLLECTIVE, TIME_UNKNOWN, OFFSET_UNKNOWN, FLAGS_ALL = 1, 4, 8, 31
# Codes of `struct` and of numpy.
FIELDS = {
    **dict.fromkeys(("process", "thread", "offset", "size", "begin_ns"), "Q"),
    **{"duration_ns": "I", "file": "H", "operation": "B", "flags": "B", "rank": "I"},
    "has_rank": "I",
}
ENTRY = struct.Struct("<" + "".join(FIELDS.values()))


class Call(NamedTuple):
    """A record with its source. None is unknown."""

    operation: int  # of OPERATIONS
    process: int = 0
    thread: int = 0
    rank: int | None = None
    file: int = 0
    offset: int | None = None
    size: int = 0
    begin_ns: int | None = None
    duration_ns: int = 0
    flags: int = 0


def pack(call: Call) -> bytes:
    """An entry. Raises a ValueError for numbers beyond the limits of a trace."""
    offset, begin, rank = call.offset or 0, call.begin_ns or 0, call.rank or 0
    flags = call.flags | OFFSET_UNKNOWN * (call.offset is None)
    flags |= TIME_UNKNOWN * (call.begin_ns is None)
    duration = min(call.duration_ns, DURATION_NS_MAX)
    place = (call.process, call.thread, offset, call.size, begin, duration, call.file)
    try:
        entry = ENTRY.pack(*place, call.operation, flags, rank, call.rank is not None)
    except struct.error:
        entry = None
    if entry is None or max(offset + call.size, begin) > NUMBER_MAX or flags > FLAGS_ALL:
        raise ValueError("a number exceeds the limits of a trace")
    return entry


def unpack(entries: bytes):
    """Yields the Call of each entry."""
    for entry in ENTRY.iter_unpack(entries):
        process, thread, offset, size, begin, duration, file, operation, flags, rank, has = entry
        offset = None if flags & OFFSET_UNKNOWN else offset
        begin = None if flags & TIME_UNKNOWN else begin
        source = (process, thread, rank if has else None)
        yield Call(operation, *source, file, offset, size, begin, duration, flags)
