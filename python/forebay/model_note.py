# SPDX-License-Identifier: Apache-2.0
"""Which model a generated snapshot was drawn from, noted on the file itself.

The Tipsy format has no room for it, and a second file would be lost; an extended attribute goes
where the file goes. It is a note for pictures: where a file system keeps none, nothing is lost.
"""

import contextlib
import json
import os
from pathlib import Path

ATTRIBUTE = "user.forebay.model"


def write_note(file: Path, model: dict) -> None:
    """Notes the model, and the file's size to tell when something else was written over it."""
    note = json.dumps({**model, "file_bytes": file.stat().st_size}).encode()
    with contextlib.suppress(OSError):  # not every file system keeps such notes
        os.setxattr(file, ATTRIBUTE, note)


def read_note(file: Path) -> dict:
    """The model of a file, empty if none is known."""
    try:
        note = json.loads(os.getxattr(file, ATTRIBUTE))
        same_size = note["file_bytes"] == file.stat().st_size
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return note if same_size else {}
