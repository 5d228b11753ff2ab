# SPDX-License-Identifier: Apache-2.0
"""Standard output and error that fail in one way, whoever writes to them.

click and rich take a closed pipe for an end of their own, with exit code 1, which says "damaged" or
"differs" of some commands. And Python writes what is left when it exits, where nobody can catch the
failure. So both streams get a lowest layer of ours, which no writer passes by.
"""

import errno
import io
import os
import signal
import sys

from forebay.errors import EXIT_FAILED, EXIT_SIGNAL


class OutputLost(BaseException):
    """Standard output cannot be written. No Exception: who goes on after a failure of other work
    must not go on after this one, as the answer could not be told."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number

    @property
    def exit_code(self) -> int:
        return EXIT_SIGNAL + signal.SIGPIPE if self.has_no_reader else EXIT_FAILED

    @property
    def has_no_reader(self) -> bool:
        """A reader such as head has seen enough, which is nothing to complain about."""
        return self.number == errno.EPIPE

    def __str__(self) -> str:
        return f"cannot write standard output: {os.strerror(self.number)}; send it elsewhere"


class _Output(io.FileIO):
    """Raises OutputLost once, and then drops what comes: Python's exit flushes once more."""

    is_lost = False

    def write(self, data) -> int:
        if self.is_lost:
            return memoryview(data).nbytes
        try:
            if (written := super().write(data)) is not None:
                return written
            number = errno.EAGAIN  # a pipe that does not block, and is full
        except OSError as error:
            number = error.errno
        self.is_lost = True
        raise OutputLost(number)


class _Errors(io.FileIO):
    """Drops what cannot be written: there is nowhere to say so, and the exit code still counts."""

    def write(self, data) -> int:
        try:
            return super().write(data) or memoryview(data).nbytes
        except OSError:
            return memoryview(data).nbytes


def watch() -> None:
    """Puts our layer below both streams, unless they are somebody's own, as a test's are. Raises
    OutputLost if standard output is closed: its number could become that of a file of ours."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    elif sys.stderr is sys.__stderr__:
        sys.stderr = _on(_Errors, sys.stderr)
    if sys.stdout is None:
        raise OutputLost(errno.EBADF)
    if sys.stdout is sys.__stdout__:
        sys.stdout = _on(_Output, sys.stdout)


def _on(layer: type[io.FileIO], stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """A stream like `stream` on the same descriptor, which stays open when it ends."""
    return io.TextIOWrapper(
        io.BufferedWriter(layer(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering or stream.write_through,
    )
