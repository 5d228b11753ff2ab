# SPDX-License-Identifier: Apache-2.0
"""Reads files of dftracer: JSON lines, one for each call, plain or with gzip.

Calls without an offset are placed by the position of their descriptor, which begins at 0 after an
open and moves with each transfer and seek. Only calls of category POSIX are read.
"""

import gzip
import json
import os
import re
import zlib
from collections.abc import Iterator

from forebay.errors import ForebayError
from forebay.native import OnProgress, Progress
from forebay.trace_import.found_files import FoundFiles
from forebay.trace_import.records import OPERATIONS, Call, pack

GZIP_MAGIC = b"\x1f\x8b"
LINE_BYTES_MAX = 2**20
PROGRESS_LINES = 10_000
TIME = re.compile(rb'"ts"\s*:\s*"?(\d{1,19})')
MICROSECOND_NS = 1000
CALL = re.compile(r"(open|creat|p?read|p?write|lseek)(64)?|openat|close|fsync|fdatasync")
INVALID = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


def is_begin(head: bytes) -> bool:
    """Whether a file that begins with `head` may be one of dftracer."""
    return head.startswith(GZIP_MAGIC) or head.lstrip()[:1] in (b"[", b"{")


def read(file: str, found: FoundFiles, on_progress: OnProgress) -> Iterator[bytes]:
    """Yields the entry of each call. Times begin at the earliest one in the file. An incomplete
    last line is a warning."""
    calls = _Calls(_first_time_us(file), found)
    broken, is_event = None, False
    for number, line in enumerate(_lines(file, found, on_progress), start=1):
        text = line.decode("utf-8", "replace").strip(" \t\r\n[],")  # an event ends in "}"
        if text and broken:
            raise broken
        try:
            entry = calls.entry_of(json.loads(text)) if text else None
        except (json.JSONDecodeError, RecursionError):
            broken = ForebayError(f"{file}: line {number}: invalid JSON")
        except INVALID as error:
            raise ForebayError(f"{file}: line {number}: invalid event: {error}") from None
        else:
            is_event = is_event or bool(text)
            if entry:
                yield entry
    if broken and not is_event:
        raise broken
    found.warnings += [f"{broken}; this last line is skipped"] if broken else []


def _lines(file: str, found: FoundFiles, on_progress: OnProgress) -> Iterator[bytes]:
    total, number = os.path.getsize(file), 0
    try:
        with open(file, "rb") as raw:
            is_packed = raw.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC)
            stream = gzip.GzipFile(fileobj=raw) if is_packed else raw
            while line := stream.readline(LINE_BYTES_MAX):
                if number % PROGRESS_LINES == 0:
                    on_progress(Progress(raw.tell(), total, "bytes", f"reading {file}"))
                number += 1
                yield line
    except EOFError:
        found.warnings.append(f"{file}: line {number}: the compressed data end too early")
    except (OSError, zlib.error) as error:
        raise ForebayError(f"{file}: cannot be read after line {number}: {error}") from None


def _first_time_us(file: str) -> int:
    """Lines are in the order of the ends of calls, so this reads the whole file."""
    lines = _lines(file, FoundFiles(), lambda _: None)
    return min((int(match[1]) for line in lines if (match := TIME.search(line))), default=0)


class _Calls:
    """Files and positions of descriptors, from event to event. Invalid events raise INVALID."""

    def __init__(self, start_us: int, found: FoundFiles):
        self.start_us, self.found = start_us, found
        # By process and descriptor, or by process and file if calls have no descriptor.
        self.positions: dict[tuple, int] = {}  # absent: unknown
        self.files: dict[tuple, str] = {}

    def entry_of(self, event: dict) -> bytes | None:
        """None for other events, and for calls that failed."""
        call, args = event.get("name"), event.get("args", {})
        if event.get("cat") == "dftracer" and call == "FH":
            self.found.names[str(args["value"])] = str(args["name"])
        if event.get("cat") != "POSIX" or not CALL.fullmatch(call) or int(args.get("ret", 0)) < 0:
            return None
        process = int(event["pid"])
        file, offset, size = self._transfer(call.removesuffix("64"), process, args)
        name = call.replace("creat", "open")
        begin, duration = int(event["ts"]) - self.start_us, int(event.get("dur", 0))
        return pack(
            Call(
                next(i for i, word in enumerate(OPERATIONS) if word in name),
                process,
                int(event["tid"]),
                file=self.found.number(file),
                offset=offset,
                size=size,
                begin_ns=max(begin, 0) * MICROSECOND_NS,
                duration_ns=max(duration, 0) * MICROSECOND_NS,
            )
        )

    def _transfer(self, call: str, process: int, args: dict) -> tuple[str, int | None, int]:
        """File, offset and size of a call. Moves the position of its descriptor."""
        is_open = call in ("open", "openat", "creat")
        descriptor, file = (
            args.get("ret" if is_open else "fd"),
            args.get("fname", args.get("fhash")),
        )
        if descriptor is None and file is None:
            raise ValueError("no file; run the program with DFTRACER_INC_METADATA=1")
        at = (process, str(file) if descriptor is None else int(descriptor))
        file = self.files.get(at, f"descriptor {at[1]}") if file is None else str(file)
        offset, size = None, 0
        if is_open:
            is_append = int(args.get("flags", 0)) & os.O_APPEND  # no event has the end of the file
            for one in (at, (process, file)):
                self.files[one], self.positions[one] = file, 0
                if is_append:
                    del self.positions[one]
        elif call == "close":
            self.positions.pop(at, None)
            self.files.pop(at, None)
        elif call == "lseek":
            offset = self.positions[at] = int(args["ret"])
        elif "read" in call or "write" in call:
            size = int(args["ret"] if "ret" in args else args["count"])
            offset = int(args["offset"]) if call.startswith("p") else self.positions.get(at)
            if offset is not None and not call.startswith("p"):
                self.positions[at] = offset + size
        return file, offset, size
