# SPDX-License-Identifier: Apache-2.0
"""Reads and writes records as lines of text (docs/formats/trace.md#text)."""

import os
import re
from collections.abc import Callable, Iterable, Iterator

from forebay.errors import ForebayError
from forebay.native import OnProgress, Progress
from forebay.trace_import.found_files import FILE_UNKNOWN, FoundFiles
from forebay.trace_import.records import COLLECTIVE, OPERATIONS, Call, pack

LINE_BYTES_MAX = 65536
PROGRESS_LINES = 10_000
SECOND_NS = 10**9
NUMBER = re.compile(r"[0-9]{1,20}")
SECONDS = re.compile(r"([0-9]{1,20})(?:\.([0-9]*))?")
REQUIRED = ("File Pos", "# of Bytes", "I/O Op")
COLUMNS = {
    "Proc ID": lambda call: call.process,
    "Rank": lambda call: "" if call.rank is None else call.rank,
    "File #": lambda call: call.file,
    "File Pos": lambda call: "" if call.offset is None else call.offset,
    "# of Bytes": lambda call: call.size,
    "Time(s)": lambda call: "" if call.begin_ns is None else seconds(call.begin_ns),
    "I/O Op": lambda call: _operation_text(call),
    "Thread": lambda call: call.thread,
    "Duration(s)": lambda call: seconds(call.duration_ns),
    "Flags": lambda call: call.flags,
}


def write(calls: Iterable[Call]) -> Iterator[str]:
    """Yields the lines."""
    yield ",".join(COLUMNS) + "\n"
    for call in calls:
        yield ",".join(str(text(call)) for text in COLUMNS.values()) + "\n"


def read(file: str, found: FoundFiles, on_progress: OnProgress) -> Iterator[bytes]:
    """Yields the entry of each line. Files have their numbers in the text."""
    header: list[str] = []
    for number, line in _lines(file, on_progress):
        cells = [cell.strip() for cell in line.split("\t" if "\t" in line else ",")]
        try:
            if not header:
                header = _checked(cells)
                continue
            if len(cells) != len(header):
                raise ValueError(f"{len(cells)} columns instead of {len(header)}")
            call = _call(dict(zip(header, cells, strict=True)))
            entry = pack(call)
        except ValueError as error:
            raise ForebayError(f"{file}: line {number}: {error}") from None
        if call.file != FILE_UNKNOWN:
            found.number_up_to(call.file)
        yield entry
    if not header:
        raise ForebayError(f"{file} has no line with the names of columns")


def _lines(file: str, on_progress: OnProgress) -> Iterator[tuple[int, str]]:
    """Number and content of the lines that are not empty."""
    number = 0
    with open(file, "rb") as text:
        total = os.fstat(text.fileno()).st_size
        while line := text.readline(LINE_BYTES_MAX + 1):
            if len(line) > LINE_BYTES_MAX:
                raise ForebayError(f"{file}: line {number + 1} is too long: this is no text")
            if number % PROGRESS_LINES == 0 and total:
                on_progress(Progress(text.tell(), total, "bytes", f"reading {file}"))
            number += 1
            if line.strip():
                yield number, line.decode("utf-8", "replace")


def _checked(header: list[str]) -> list[str]:
    for name in header:
        if name not in COLUMNS:
            raise ValueError(f"unknown column `{name}`; valid: {', '.join(COLUMNS)}")
        if header.count(name) > 1:
            raise ValueError(f"column `{name}` twice")
    if absent := [name for name in REQUIRED if name not in header]:
        raise ValueError(f"no column `{absent[0]}`")
    return header


def _call(cells: dict[str, str]) -> Call:
    def value(column: str, parse: Callable, absent=None):
        """`absent` for a column that is not there, None for an empty cell that may be empty."""
        if column not in cells:
            return absent
        if cells[column] == "" and column in ("Rank", "File Pos", "Time(s)"):
            return None
        try:
            return parse(cells[column])
        except (AttributeError, StopIteration):
            text = f"column `{column}`: invalid value `{cells[column]}`"
            raise ValueError(text) from None

    operation, flags = value("I/O Op", _operation)
    return Call(
        operation,
        value("Proc ID", _number, 0),
        value("Thread", _number, 0),
        value("Rank", _number),
        value("File #", _number, 0),
        value("File Pos", _number),
        value("# of Bytes", _number),
        value("Time(s)", _nanoseconds),
        value("Duration(s)", _nanoseconds, 0),
        flags | value("Flags", _number, 0),
    )


def _number(text: str) -> int:
    return int(NUMBER.fullmatch(text).group())  # AttributeError: no number


def _nanoseconds(text: str) -> int:
    """Exact to the nanosecond; further digits are ignored."""
    whole, fraction = SECONDS.fullmatch(text).groups()
    return int(whole) * SECOND_NS + int((fraction or "")[:9].ljust(9, "0"))


def seconds(ns: int) -> str:
    whole, decimals = divmod(ns, SECOND_NS)
    digits = f"{decimals:09d}"
    return f"{whole}.{digits[:6]}{digits[6:].rstrip('0')}"


def _operation(text: str) -> tuple[int, int]:
    """Number of the operation, and flags."""
    name = text.lower()
    number = next(i for i, word in enumerate(OPERATIONS) if word in name)
    is_collective = name.startswith("mpi") and ("all" in name or "ordered" in name)
    return number, COLLECTIVE * is_collective


def _operation_text(call: Call) -> str:
    name = OPERATIONS[call.operation]
    return f"MPI_{name.upper()}ALL" if call.flags & COLLECTIVE else name
