# SPDX-License-Identifier: Apache-2.0
"""Layers below standard output and error that report a failed write in one way.

click and rich exit with code 1 after a closed pipe. For some commands this code means "damaged" or
"differs". Python flushes the rest of the output when it exits, where a failure cannot be caught. So
both streams get a lowest layer of Forebay's, through which all writes pass.
"""

import errno
import io
import os
import signal
import sys

from forebay.errors import EXIT_FAILED, EXIT_SIGNAL


class StdoutError(BaseException):
    """Standard output cannot be written.

    It is not an Exception: code that continues after a failure of other work must not continue
    after this one, as its result could not be printed.
    """

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number

    @property
    def exit_code(self) -> int:
        return EXIT_SIGNAL + signal.SIGPIPE if self.has_no_reader else EXIT_FAILED

    @property
    def has_no_reader(self) -> bool:
        """Whether the reader has closed the pipe, as `head` does, which is not reported."""
        return self.number == errno.EPIPE

    def __str__(self) -> str:
        return f"cannot write standard output: {os.strerror(self.number)}; redirect it"


class _StdoutLayer(io.FileIO):
    """Raises StdoutError once, and drops further output, as Python flushes once more at exit."""

    is_lost = False

    def write(self, data) -> int:
        if self.is_lost:
            return memoryview(data).nbytes
        try:
            if (written := super().write(data)) is not None:
                return written
            number = errno.EAGAIN  # a full pipe in non-blocking mode
        except OSError as error:
            number = error.errno
        self.is_lost = True
        raise StdoutError(number)


class _StderrLayer(io.FileIO):
    """Drops output that cannot be written: no stream can report that, and the exit code stays."""

    def write(self, data) -> int:
        try:
            return super().write(data) or memoryview(data).nbytes
        except OSError:
            return memoryview(data).nbytes


def allow_closed_stdout() -> None:
    """Reports a closed standard output at the first write, not in install_layers()."""
    if sys.stdout is None:
        unwritable = _StdoutLayer(os.open(os.devnull, os.O_RDONLY), "w")
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(unwritable), encoding="utf-8")


def install_layers() -> None:
    """Installs the layers below both streams, unless these were replaced, as a test does.

    Raises StdoutError if standard output is closed, as another file could get its descriptor.
    """
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    elif sys.stderr is sys.__stderr__:
        sys.stderr = _wrap_stream(_StderrLayer, sys.stderr)
    if sys.stdout is None:
        raise StdoutError(errno.EBADF)
    if sys.stdout is sys.__stdout__:
        sys.stdout = _wrap_stream(_StdoutLayer, sys.stdout)


def _wrap_stream(layer: type[io.FileIO], stream: io.TextIOWrapper) -> io.TextIOWrapper:
    """A stream like `stream` on the same descriptor, which stays open when the stream is closed."""
    return io.TextIOWrapper(
        io.BufferedWriter(layer(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering or stream.write_through,
    )
