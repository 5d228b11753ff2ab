# SPDX-License-Identifier: Apache-2.0
"""The model of a generated snapshot, stored in an extended attribute of the file.

The Tipsy format has no field for it. An extended attribute stays with the file, which a second file
would not. Only plots use it, so a file system without extended attributes is no failure.
"""

import contextlib
import json
import os
from pathlib import Path

ATTRIBUTE = "user.forebay.model"


def write_model_attribute(file: Path, model: dict) -> None:
    """Stores the model, and the file's size to detect that the file was overwritten."""
    note = json.dumps({**model, "file_bytes": file.stat().st_size}).encode()
    with contextlib.suppress(OSError):  # not every file system has such attributes
        os.setxattr(file, ATTRIBUTE, note)


def read_model_attribute(file: Path) -> dict:
    """The stored model of a file; empty if there is none, or the file's size has changed."""
    try:
        note = json.loads(os.getxattr(file, ATTRIBUTE))
        same_size = note["file_bytes"] == file.stat().st_size
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return note if same_size else {}
