# SPDX-License-Identifier: Apache-2.0
"""Reads DXT records of Darshan logs, by the C library in the package `darshan`.

That package's report class holds all records in memory. Here each record, the segments of one rank
in one file, is released before the next.
"""

import contextlib
from collections.abc import Iterator

from forebay.errors import ForebayError
from forebay.native import OnProgress, Progress
from forebay.trace_import.found_files import FoundFiles
from forebay.trace_import.records import (
    DURATION_NS_MAX,
    FIELDS,
    NUMBER_MAX,
    OFFSET_UNKNOWN,
    OPERATIONS,
)

MAGIC = 6567223
MODULES = ("DXT_POSIX", "DXT_MPIIO")  # the first that a log has is read
SEGMENT = [("offset", "i8"), ("length", "i8"), ("start", "f8"), ("end", "f8")]
SECONDS_MAX = 2**63 / 1e9
SECOND_NS = 1e9


def is_begin(head: bytes) -> bool:
    """Whether a file that begins with `head` is a Darshan log, of a machine of any byte order."""
    magic = head[8:16]  # after the version
    return MAGIC in (int.from_bytes(magic, "little"), int.from_bytes(magic, "big"))


def read(file: str, found: FoundFiles, on_progress: OnProgress) -> Iterator[bytes]:
    """Yields the entries of each record, in order of the time."""
    try:
        from darshan.backend import cffi_backend as backend
    except ImportError:
        message = 'Darshan logs need the package darshan; run pip install "forebay[darshan]"'
        raise ForebayError(message) from None
    on_progress(Progress(0, 0, "", f"reading {file}"))
    log = backend.log_open(file)
    if log["handle"] == backend.ffi.NULL:
        raise ForebayError(f"{file}: the Darshan library cannot open this log; it may be damaged")
    try:
        # Before the records: after damage there, the library would abort the process.
        with contextlib.suppress(UnicodeDecodeError):
            found.names = backend.log_get_name_records(log)
        modules = backend.log_get_modules(log)
        module = next((modules[name] for name in MODULES if name in modules), None)
        if module is None:
            cause = f"{file} has counters only, no DXT records"
            raise ForebayError(f"{cause}; run the program with DXT_ENABLE_IO_TRACE=1")
        if module["partial_flag"]:
            found.warnings.append(f"{file} is incomplete: Darshan had no memory for all segments")
        for head, segments in _records(backend, log, module["idx"], file):
            yield _entries(head, segments, found.number(head.base_rec.id), file)
    finally:
        backend.log_close(log)


def _records(backend, log: dict, module: int, file: str) -> Iterator[tuple]:
    """Yields the head and the segments of each record, writes first, valid until the next one.
    The package's log_get_dxt_record() does not report errors."""
    import numpy

    head_bytes = backend.ffi.sizeof("struct dxt_file_record")
    while True:
        place = backend.ffi.new("void **")
        state = backend.libdutil.darshan_log_get_record(log["handle"], module, place)
        if state < 0:
            raise ForebayError(f"{file}: the log is damaged or ends too early; copy it again")
        if state == 0:
            return
        try:
            head = backend.ffi.cast("struct dxt_file_record *", place[0])
            count = head.write_count + head.read_count
            size = head_bytes + count * numpy.dtype(SEGMENT).itemsize
            content = backend.ffi.buffer(place[0], size)
            yield head, numpy.frombuffer(content, SEGMENT, count, head_bytes)
        finally:
            backend.libdutil.darshan_free(place[0])


def _entries(head, segments, number: int, file: str) -> bytes:
    import numpy

    rank = head.base_rec.rank
    offsets, lengths = segments["offset"], segments["length"]
    times = segments["start"], segments["end"] - segments["start"]
    is_valid = (lengths >= 0) & (offsets <= NUMBER_MAX - lengths)
    if not is_valid.all() or not (numpy.abs(times) < SECONDS_MAX).all():
        raise ForebayError(f"{file}: a segment of rank {rank} has invalid numbers; copy it again")
    begin, duration = (numpy.rint(numpy.maximum(one, 0) * SECOND_NS) for one in times)
    entries = numpy.zeros(len(segments), list(FIELDS.items()))
    entries["offset"], entries["size"] = numpy.maximum(offsets, 0), lengths
    entries["begin_ns"], entries["duration_ns"] = begin, numpy.minimum(duration, DURATION_NS_MAX)
    entries["operation"] = OPERATIONS.index("read")
    entries["operation"][: head.write_count] = OPERATIONS.index("write")
    entries["flags"][offsets < 0] = OFFSET_UNKNOWN  # DXT_MPIIO of old versions has none
    entries["file"], entries["rank"], entries["has_rank"] = number, max(rank, 0), rank >= 0
    return entries[numpy.argsort(segments["start"], kind="stable")].tobytes()
