# SPDX-License-Identifier: Apache-2.0
"""Reads DXT records of Darshan logs, by the C library in the package `darshan`.

That package's report class holds all records in memory. Here each record, the segments of one rank
in one file, is released before the next.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

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
    on_progress(Progress(0, 0, "", f"reading {file}"))
    with open_log(file) as log:
        found.names = log.names
        module = next((name for name in MODULES if name in log.modules), None)
        if module is None:
            cause = f"{file} has counters only, no DXT records"
            raise ForebayError(f"{cause}; run the program with DXT_ENABLE_IO_TRACE=1")
        if log.modules[module]["partial_flag"]:
            found.warnings.append(f"{file} is incomplete: Darshan had no memory for all segments")
        for head, segments in dxt_records(log, module):
            yield _entries(head, segments, found.number(head.base_rec.id), file)


@dataclass(frozen=True)
class OpenLog:
    """A log that is open, with what its head has."""

    file: str
    backend: object  # the module darshan.backend.cffi_backend
    log: dict  # its log
    names: dict[int, str]
    modules: dict[str, dict]


@contextlib.contextmanager
def open_log(file: str) -> Iterator[OpenLog]:
    try:
        from darshan.backend import cffi_backend as backend
    except ImportError:
        message = 'Darshan logs need the package darshan; run pip install "forebay[darshan]"'
        raise ForebayError(message) from None
    log = backend.log_open(file)
    if log["handle"] == backend.ffi.NULL:
        raise ForebayError(f"{file}: the Darshan library cannot open this log; it may be damaged")
    try:
        # Before the records: after damage there, the library would abort the process.
        names: dict[int, str] = {}
        with contextlib.suppress(UnicodeDecodeError):
            names = backend.log_get_name_records(log)
        yield OpenLog(file, backend, log, names, backend.log_get_modules(log))
    finally:
        backend.log_close(log)


def records(log: OpenLog, module: str) -> Iterator:
    """Yields a pointer to each record of a module, valid until the next one. The package's
    log_get_record() does not report errors."""
    number, library = log.modules[module]["idx"], log.backend.libdutil
    while True:
        place = log.backend.ffi.new("void **")
        state = library.darshan_log_get_record(log.log["handle"], number, place)
        if state < 0:
            cause = "the log is damaged or ends too early"
            raise ForebayError(f"{log.file}: {cause}; copy it again")
        if state == 0:
            return
        try:
            yield place[0]
        finally:
            library.darshan_free(place[0])


def dxt_records(log: OpenLog, module: str) -> Iterator[tuple]:
    """Yields the head and the segments of each record, writes first, valid until the next one."""
    import numpy

    ffi = log.backend.ffi
    head_bytes = ffi.sizeof("struct dxt_file_record")
    for record in records(log, module):
        head = ffi.cast("struct dxt_file_record *", record)
        count = head.write_count + head.read_count
        size = head_bytes + count * numpy.dtype(SEGMENT).itemsize
        yield head, numpy.frombuffer(ffi.buffer(record, size), SEGMENT, count, head_bytes)


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
