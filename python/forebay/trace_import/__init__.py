# SPDX-License-Identifier: Apache-2.0
"""Writes traces from logs of other tools: Darshan with DXT, and dftracer.

A reader yields the cells of one record at a time. They become lines of the text format in a
temporary file, which forebay-trace imports, so a log of any length needs no memory.
"""

import contextlib
import os
import tempfile
from pathlib import Path

from forebay import native
from forebay.errors import EXIT_USAGE, ForebayError
from forebay.trace_import import darshan_log, dftracer_log
from forebay.trace_import.found_files import FoundFiles

PROGRAM = "forebay-trace"
HEAD_BYTES = 4096
COLUMNS = "Proc ID,Rank,File #,File Pos,# of Bytes,Time(s),I/O Op,Thread,Duration(s)"


def import_file(file: str, trace: str, names: str | None, on_progress: native.OnProgress) -> dict:
    """Writes `trace` from `file`, whose content shows its kind. Returns the counts of
    forebay-trace, and `warnings`. `names` is for text only."""
    reader = _reader_of(file)
    if reader is None:
        words = ["import", file, trace, *(["--names", names] if names else [])]
        return native.run_program(PROGRAM, words).document | {"warnings": []}
    if names:
        raise ForebayError(f"{file} has names of files; omit --names", EXIT_USAGE)
    found = FoundFiles()
    with _unnamed_file(trace) as text, _unnamed_file(trace) as names_text:
        print(COLUMNS, file=text)
        for cells in reader.read(file, found, on_progress):
            print(*cells, sep=",", file=text)
        names_text.writelines(f"{name}\n" for name in found.printable_names())
        on_progress(native.Progress(0, 0, "", f"writing {trace}"))
        words = ["import", _path_of(text), trace, "--names", _path_of(names_text)]
        return native.run_program(PROGRAM, words).document | {"warnings": found.warnings}


def _reader_of(file: str):
    """The module that reads `file`. None: text, a pipe, or a file that cannot be read."""
    if not os.path.isfile(file) or not os.access(file, os.R_OK):
        return None
    with open(file, "rb") as opened:
        head = opened.read(HEAD_BYTES)
    return next((one for one in (darshan_log, dftracer_log) if one.is_begin(head)), None)


@contextlib.contextmanager
def _unnamed_file(trace: str):
    """A file in the directory of `trace` that has no name, so a killed process leaves none."""
    folder = Path(trace).absolute().parent
    try:
        with tempfile.TemporaryFile("w", dir=folder, encoding="utf-8", errors="replace") as file:
            yield file
    except OSError as error:
        message = f"cannot write a temporary file in {folder}: {error.strerror}; free some space"
        raise ForebayError(message) from None


def _path_of(file) -> str:
    """A path by which a child process opens the file while it is open here."""
    file.flush()
    return f"/proc/{os.getpid()}/fd/{file.fileno()}"
