# SPDX-License-Identifier: Apache-2.0
"""Reads and writes records as lines of text (docs/formats/trace.md#text)."""

import os
import re
from collections.abc import Iterable, Iterator

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
MAY_BE_EMPTY = ("rank", "offset", "begin_ns")


def write(calls: Iterable[Call]) -> Iterator[str]:
    """Yields the lines."""
    yield ",".join(COLUMNS) + "\n"
    for call in calls:
        values = [getattr(call, field) for field, _, _ in COLUMNS.values()]
        texts = [text for _, _, text in COLUMNS.values()]
        cells = ["" if one is None else text(one) for one, text in zip(values, texts, strict=True)]
        if call.flags & COLLECTIVE:
            cells[OPERATION_COLUMN] = f"MPI_{cells[OPERATION_COLUMN].upper()}ALL"
        yield ",".join(cells) + "\n"


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
            call = _call(header, cells)
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


def _call(header: list[str], cells: list[str]) -> Call:
    fields: dict = {}
    for name, cell in zip(header, cells, strict=True):
        field, parse, _ = COLUMNS[name]
        try:
            is_unknown = cell == "" and field in MAY_BE_EMPTY
            fields[field] = None if is_unknown else parse(cell)
        except (AttributeError, StopIteration):
            raise ValueError(f"column `{name}`: invalid value `{cell}`") from None
    operation, flags = fields.pop("operation")
    return Call(operation, **fields | {"flags": flags | fields.get("flags", 0)})


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


COLUMNS = {  # field, parser and text
    "Proc ID": ("process", _number, str),
    "Rank": ("rank", _number, str),
    "File #": ("file", _number, str),
    "File Pos": ("offset", _number, str),
    "# of Bytes": ("size", _number, str),
    "Time(s)": ("begin_ns", _nanoseconds, seconds),
    "I/O Op": ("operation", _operation, OPERATIONS.__getitem__),
    "Thread": ("thread", _number, str),
    "Duration(s)": ("duration_ns", _nanoseconds, seconds),
    "Flags": ("flags", _number, str),
}
OPERATION_COLUMN = list(COLUMNS).index("I/O Op")
