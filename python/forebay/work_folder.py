# SPDX-License-Identifier: Apache-2.0
"""Temporary directories in a directory of the user. Their names cannot clash with the user's, and a
run removes those that a killed run has left.

A lock distinguishes these from the directory of a concurrent run. It is released when its process
ends, for any reason.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from forebay.errors import ForebayError

LOCK = "lock"

Cleanup = Callable[[Path], None]


def _remove(place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)


@contextlib.contextmanager
def work_folder(parent: Path, purpose: str, cleanup: Cleanup = _remove) -> Iterator[Path]:
    """Yields a new directory in `parent` with nothing in it but the lock. `cleanup` removes it."""
    prefix = f".forebay-{purpose}-"
    for stale in parent.glob(f"{prefix}*"):
        _remove_stale(stale, cleanup)
    try:
        place = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        lock = _lock(place)
    except OSError as error:
        cause = f"cannot create a directory in {parent}: {error.strerror}"
        message = f"{cause}; choose another with --dir"
        raise ForebayError(message) from None
    with lock:
        try:
            yield place
        finally:
            cleanup(place)


def _lock(place: Path):
    """Creates the lock. The file gets its name when it is locked, so it never appears unlocked."""
    lock = open(place / f"{LOCK}-new", "w", encoding="utf-8")  # noqa: SIM115
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.rename(lock.name, place / LOCK)
    return lock


def _remove_stale(place: Path, cleanup: Cleanup) -> None:
    """Removes the directory of a run that has ended, but not that of one that creates its lock."""
    try:
        if place.is_symlink() or place.stat().st_uid != os.geteuid():
            return
        with open(place / LOCK, encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            cleanup(place)
    except OSError:
        return
