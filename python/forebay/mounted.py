# SPDX-License-Identifier: Apache-2.0
"""The storage of a machine file, mounted by emufs for as long as a `with` lasts.

emufs stays a child of this process meanwhile, so that it unmounts when we end, however that is.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from forebay import native
from forebay.errors import NativeError, SkippedError
from forebay.work_folder import work_folder

PROGRAM = "forebay-emufs"
DEVICE = "/dev/fuse"
# What it means if emufs refuses, by the class of its error; others are failures.
REFUSALS = {
    "permission": f"root may not mount here; give the container CAP_SYS_ADMIN and {DEVICE}",
    "unsupported": f"the kernel has no FUSE behind {DEVICE}; load it (modprobe fuse)",
}


def why_not() -> str:
    """Why nothing can be mounted here, and what to do about it; empty if it can be."""
    if not os.path.exists(DEVICE):
        return f"there is no {DEVICE}; load it (modprobe fuse), or give the container the device"
    if os.geteuid() != 0:
        return "mounting takes root; run it as root"
    return ""


@contextlib.contextmanager
def mounted(machine: str, parent: Path) -> Iterator[Path]:
    """Gives the mount point: an empty storage. It and all that was written are gone at the end.

    Raises a SkippedError with the reason where nothing can be mounted.
    """
    if why := why_not():
        raise SkippedError(why)
    # Also of one that was killed together with its emufs.
    with work_folder(parent, "emufs", _take_away) as place:
        folders = place / "backing", place / "mount"
        for folder in folders:
            folder.mkdir()
        with _serving(machine, *folders) as point:
            yield point


@contextlib.contextmanager
def _serving(machine: str, backing: Path, point: Path) -> Iterator[Path]:
    words = ["mount", "--foreground", "--no-sync", "--machine", machine, str(backing), str(point)]
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(native.serving(PROGRAM, words))
        except NativeError as error:
            if (why := REFUSALS.get(error.details.get("class"))) is None:
                raise
            raise SkippedError(why) from None
        yield point


def _take_away(place: Path) -> None:
    if not place.exists():
        return
    try:
        native.call(PROGRAM, ["unmount", str(place / "mount")])
    except NativeError as error:
        if error.details.get("class") != "not-found":
            raise
    shutil.rmtree(place, ignore_errors=True)
