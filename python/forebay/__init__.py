# SPDX-License-Identifier: Apache-2.0
"""Forebay for Python: sessions, datasets, output streams; and the command line.

Names are imported when they are used, so that the command line starts at once.
docs/guides/python.md describes their use.
"""

import importlib

__version__ = "1.0.0"

TYPE_CHECKING = False  # as type checkers define it; to import typing takes milliseconds

if TYPE_CHECKING:
    from _forebay import (
        Buffer,
        DatasetReader,
        DatasetWriter,
        Field,
        Future,
        Memory,
        OutputBuffer,
        OutputFile,
        OutputStream,
        Receipt,
        Runtime,
        Session,
        Signature,
        StepReader,
        StepWriter,
        View,
        gain,
    )

    from forebay.exceptions import (
        CallbackError,
        CancelledError,
        ClosedError,
        DamageError,
        Error,
        ExistsError,
        InvalidArgumentError,
        LimitError,
        NoSpaceError,
        NotFoundError,
        OutOfRangeError,
        PermissionDeniedError,
        ShortFileError,
        StorageError,
        UnsupportedError,
    )
    from forebay.raw_file import RawFile

__all__ = [
    "Buffer",
    "CallbackError",
    "CancelledError",
    "ClosedError",
    "DamageError",
    "DatasetReader",
    "DatasetWriter",
    "Error",
    "ExistsError",
    "Field",
    "Future",
    "InvalidArgumentError",
    "LimitError",
    "Memory",
    "NoSpaceError",
    "NotFoundError",
    "OutOfRangeError",
    "OutputBuffer",
    "OutputFile",
    "OutputStream",
    "PermissionDeniedError",
    "RawFile",
    "Receipt",
    "Runtime",
    "Session",
    "ShortFileError",
    "Signature",
    "StepReader",
    "StepWriter",
    "StorageError",
    "UnsupportedError",
    "View",
    "gain",
]


def __getattr__(name: str):
    if name not in __all__:
        raise AttributeError(f"module 'forebay' has no attribute {name!r}")
    if name.endswith("Error"):
        module = "forebay.exceptions"
    else:
        module = "forebay.raw_file" if name == "RawFile" else "_forebay"
    value = globals()[name] = getattr(importlib.import_module(module), name)
    return value


def __dir__():
    return sorted({*globals(), *__all__})
