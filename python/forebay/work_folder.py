# SPDX-License-Identifier: Apache-2.0
"""Folders of our own in a folder of the user: none of their names can be one of the user's, and
what a run that was killed has left goes with the next one.

A lock tells such a rest from the folder of a run beside this one. It goes with its process, however
that ends.
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

TakeAway = Callable[[Path], None]


def _remove(place: Path) -> None:
    shutil.rmtree(place, ignore_errors=True)


@contextlib.contextmanager
def work_folder(parent: Path, purpose: str, take_away: TakeAway = _remove) -> Iterator[Path]:
    """Gives a new folder in PARENT with nothing in it but our lock; `take_away` removes it."""
    prefix = f".forebay-{purpose}-"
    for rest in parent.glob(f"{prefix}*"):
        _remove_rest(rest, take_away)
    try:
        place = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        lock = _lock(place)
    except OSError as error:
        message = f"cannot make a folder in {parent}: {error.strerror}; choose another with --dir"
        raise ForebayError(message) from None
    with lock:
        try:
            yield place
        finally:
            take_away(place)


def _lock(place: Path):
    """Has its name when it is held: nobody sees one that seems to be free."""
    lock = open(place / f"{LOCK}-new", "w", encoding="utf-8")  # noqa: SIM115
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.rename(lock.name, place / LOCK)
    return lock


def _remove_rest(place: Path, take_away: TakeAway) -> None:
    """Of a run that has ended; not of one that is only now making its lock."""
    try:
        if place.is_symlink() or place.stat().st_uid != os.geteuid():
            return
        with open(place / LOCK, encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            take_away(place)
    except OSError:
        return
