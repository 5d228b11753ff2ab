# SPDX-License-Identifier: Apache-2.0
"""The storage of a machine file, mounted by emufs for the duration of a `with` block.

emufs remains a child of this process, so it unmounts when this process ends for any reason.
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
# Reasons why emufs cannot mount here, by the class of its error. Other classes are failures.
MOUNT_ERRORS = {
    "permission": f"root may not mount here; give the container CAP_SYS_ADMIN and {DEVICE}",
    "unsupported": f"the kernel has no FUSE behind {DEVICE}; load it (modprobe fuse)",
}


def unavailable_reason() -> str:
    """Why nothing can be mounted here, and what to do about it; empty if mounting is possible."""
    if not os.path.exists(DEVICE):
        return f"{DEVICE} does not exist; load it (modprobe fuse), or give the container the device"
    if os.geteuid() != 0:
        return "mounting requires root; run it as root"
    return ""


class EmulatedStorage:
    """A running emufs: its mount point, and the directory with its files, where they take no
    emulated time."""

    def __init__(self, machine: str, place: Path, options: tuple[str, ...]):
        self.backing, self.path = place / "backing", place / "mount"
        folders = [str(self.backing), str(self.path)]
        self._args = ["mount", "--foreground", *options, "--machine", machine, *folders]
        self._running = contextlib.ExitStack()

    def start(self) -> None:
        try:
            self._running.enter_context(native.running_service(PROGRAM, self._args))
        except NativeError as error:
            if (reason := MOUNT_ERRORS.get(error.details.get("class"))) is None:
                raise
            raise SkippedError(reason) from None

    def stop(self) -> None:
        self._running.close()

    def drop_caches(self) -> None:
        """Drops the page caches of clients, by unmounting and mounting again."""
        self.stop()
        self.start()


@contextlib.contextmanager
def mounted_storage(
    machine: str, parent: Path, options: tuple[str, ...] = ("--no-sync",)
) -> Iterator[EmulatedStorage]:
    """Yields an empty storage. The mount and its files are removed at the end.

    Raises a SkippedError with the reason if nothing can be mounted.
    """
    if reason := unavailable_reason():
        raise SkippedError(reason)
    # The cleanup also unmounts for a run that was killed together with its emufs.
    with work_folder(parent, "emufs", _unmount) as place:
        storage = EmulatedStorage(machine, place, options)
        for folder in (storage.backing, storage.path):
            folder.mkdir()
        storage.start()
        try:
            yield storage
        finally:
            storage.stop()


@contextlib.contextmanager
def mount_machine(machine: str, parent: Path) -> Iterator[Path]:
    """The same, yields the mount point."""
    with mounted_storage(machine, parent) as storage:
        yield storage.path


def _unmount(place: Path) -> None:
    if not place.exists():
        return
    try:
        native.run_program(PROGRAM, ["unmount", str(place / "mount")])
    except NativeError as error:
        if error.details.get("class") != "not-found":
            raise
    shutil.rmtree(place, ignore_errors=True)
