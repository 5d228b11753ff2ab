# SPDX-License-Identifier: Apache-2.0
"""Writes traces from texts and from logs of other tools: Darshan with DXT, and dftracer; and texts
from traces.

A reader yields entries of a temporary file of records, which a native tool imports, so a log of any
length needs no memory.
"""

import contextlib
import os
import tempfile
from pathlib import Path

from forebay import atomic_output, native
from forebay.errors import EXIT_USAGE, ForebayError
from forebay.trace_import import darshan_log, dftracer_log, records, text_log
from forebay.trace_import.found_files import FoundFiles

HEAD_BYTES = 4096
BATCH_BYTES = records.ENTRY.size * 4096


def import_file(file: str, trace: str, names: str | None, on_progress: native.OnProgress) -> dict:
    """Writes `trace` from `file`, whose content shows its kind. Returns its counts,
    with `warnings`. `names` is for text only."""
    reader = _reader_of(file)
    if names and reader is not text_log:
        raise ForebayError(f"{file} has names of files; omit --names", EXIT_USAGE)
    found = FoundFiles(_lines_of(names) if names else None)
    with _unnamed_file(trace) as entries:
        try:
            for batch in reader.read(file, found, on_progress):
                entries.write(batch)
        except OSError as error:
            raise ForebayError(f"cannot read {file}: {error.strerror or error}") from None
        document = native.tools().import_trace_records(
            _path_of(entries), found.names_in_order(), trace, on_progress
        )
    return document | {"warnings": found.warnings}


def export_file(trace: str, text: str, is_recovered: bool, on_progress: native.OnProgress) -> dict:
    """Writes `text` from `trace`. Returns its counts."""
    with _unnamed_file(text) as entries, atomic_output.atomic_write(text) as target:
        document = native.tools().export_trace_records(
            trace, _path_of(entries), recover=is_recovered, progress=on_progress
        )
        batches = iter(lambda: entries.read(BATCH_BYTES), b"")
        calls = (call for batch in batches for call in records.unpack(batch))
        with open(target, "w", encoding="utf-8") as file:
            file.writelines(text_log.write(calls))
    return document


def _reader_of(file: str):
    """The module that reads `file`: text if it is a pipe, or cannot be read."""
    if not os.path.isfile(file) or not os.access(file, os.R_OK):
        return text_log
    with open(file, "rb") as opened:
        head = opened.read(HEAD_BYTES)
    return next((one for one in (darshan_log, dftracer_log) if one.is_begin(head)), text_log)


def _lines_of(names: str) -> dict[int, str]:
    try:
        return dict(enumerate(Path(names).read_text("utf-8", "replace").splitlines()))
    except OSError as error:
        raise ForebayError(f"cannot read {names}: {error.strerror}") from None


@contextlib.contextmanager
def _unnamed_file(trace: str):
    """A file in the directory of `trace` that has no name, so a killed process leaves none."""
    folder = Path(trace).absolute().parent
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            yield file
    except OSError as error:
        message = f"cannot write a temporary file in {folder}: {error.strerror}; free some space"
        raise ForebayError(message) from None


def _path_of(file) -> str:
    """A path of the file while it is open."""
    file.flush()
    return f"/proc/self/fd/{file.fileno()}"
