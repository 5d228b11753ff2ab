# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the Python interface: one class for each class of failure.

Each also derives from the exception of Python that means the same, so programs that handle
FileNotFoundError or EOFError need no change.
"""

import concurrent.futures


class Error(Exception):
    """A failure of the environment. Its text names operation, path, offset and cause.

    `kind` is the name of its class ("not-found"), `operation` a verb. `path` is empty, `offset` and
    `rank` are None, and `errno` is 0 if unknown. `cause` is the finding, and what to do next.
    """

    kind: str = ""
    operation: str = ""
    path: str = ""
    offset: int | None = None
    errno: int = 0
    cause: str = ""
    rank: int | None = None

    def __str__(self):
        return str(self.args[0]) if self.args else type(self).__name__


class InvalidArgumentError(Error, ValueError):
    """The arguments are invalid."""

    kind = "invalid-argument"


class NotFoundError(Error, FileNotFoundError, KeyError):
    """The file, dataset, step, field or part does not exist."""

    kind = "not-found"


class ExistsError(Error, FileExistsError):
    """The dataset has steps, which are unchanged."""

    kind = "exists"


class PermissionDeniedError(Error, PermissionError):
    """Refused by the operating system, or the dataset is open for writing."""

    kind = "permission"


class StorageError(Error, OSError):
    """The device or file system failed."""

    kind = "io"


class NoSpaceError(Error, OSError):
    """No space or quota is left."""

    kind = "no-space"


class ShortFileError(Error, EOFError):
    """The file ended before bytes that it had when it was opened."""

    kind = "short-file"


class OutOfRangeError(Error, IndexError):
    """An offset outside the session, the file or the array."""

    kind = "out-of-range"


class DamageError(Error, ValueError):
    """The bytes exist and violate the format."""

    kind = "damage"


class CancelledError(Error, concurrent.futures.CancelledError):
    """The program cancelled the request."""

    kind = "cancelled"


class ClosedError(Error, ValueError):
    """The session, step, stream or Runtime of the request has ended, or its step was aborted."""

    kind = "closed"


class LimitError(Error, RuntimeError):
    """Memory, descriptors or a timeout is exhausted."""

    kind = "limit"


class UnsupportedError(Error, NotImplementedError):
    """Not possible on this file, kernel or build."""

    kind = "unsupported"


class CallbackError(Error, RuntimeError):
    """A function of the program raised."""

    kind = "exception"


BY_KIND = {one.kind: one for one in Error.__subclasses__()}  # read by _forebay
