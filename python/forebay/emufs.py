# SPDX-License-Identifier: Apache-2.0
"""Access to a mount of emufs: extended attributes of its root, and of files for their layouts.

docs/guides/emufs.md defines the attributes. Failures become errors that end in what to do next.
"""

import errno
import json
import os
from pathlib import Path

from forebay.errors import EXIT_USAGE, ForebayError

PREFIX = "user.emufs."
ROWS = ("servers", "metadata", "clients")
ROWS_PER_REPLY = 100


def root(mount_point: str) -> str:
    """The mount whose root has the attributes; with several clients, the first in MOUNT_POINT."""
    first = os.path.join(mount_point, "0")
    return first if not _is_mount(mount_point) and _is_mount(first) else mount_point


def find_root(path: Path) -> str | None:
    """The root of the mount that a path is in, if its emufs runs."""
    return next((str(one) for one in (path, *path.absolute().parents) if _is_mount(one)), None)


def machine(mount_point: str) -> str:
    """The text of the machine file of a mount."""
    return _get(root(mount_point), "machine")


def path_from_root(mount_point: str, path: str) -> str:
    """A path as faults name it. PATH is absolute, or relative to the mount point."""
    if not os.path.isabs(path):
        return path
    path = os.path.relpath(path, mount_point)
    client, slash, rest = path.partition("/")
    below_a_client = slash and client.isdigit() and root(mount_point) != mount_point
    return rest if below_a_client else path


def statistics(mount_point: str) -> dict:
    """The statistics of a mount, with a list of rows for servers, metadata servers and clients."""
    path = root(mount_point)
    document = json.loads(_get(path, "stat"))
    for kind in ROWS:
        document[kind] = _rows(path, kind, document[kind])
    return document


def faults(mount_point: str) -> dict:
    """The active faults."""
    return json.loads(_get(root(mount_point), "faults"))


def reset(mount_point: str) -> None:
    """Sets the counters of the statistics to 0."""
    _set(root(mount_point), "reset", "1")


def command_fault(mount_point: str, fault: dict) -> None:
    """Activates a fault, or clears all."""
    _set(root(mount_point), "fault", json.dumps(fault))


def layout(path: str) -> dict:
    """The striping of a file, or of new files in a directory: numbers, or "rotate"."""
    args = (word.split("=", 1) for word in _get(path, "layout").split())
    return {name: int(value) if value.isdigit() else value for name, value in args}


def set_layout(path: str, layout_values: dict[str, object]) -> None:
    """Sets those values that are not None."""
    for name, value in layout_values.items():
        if value is not None:
            _set(path, name, str(value))


def _rows(mount_point: str, kind: str, count: int) -> list[dict]:
    rows = []
    for first in range(0, count, ROWS_PER_REPLY):
        rows += json.loads(_get(mount_point, f"stat.{kind}.{first}"))
    return rows


def _is_mount(path: str) -> bool:
    """True also for a mount whose emufs was killed, so that the error reports that."""
    try:
        os.getxattr(path, PREFIX + "faults")
    except OSError as error:
        return error.errno in (errno.ENOTCONN, errno.ECONNABORTED)
    return True


def _get(path: str, name: str) -> str:
    try:
        return os.getxattr(path, PREFIX + name).decode()
    except OSError as error:
        raise ForebayError(_error_text(path, error)) from None


def _set(path: str, name: str, value: str) -> None:
    try:
        os.setxattr(path, PREFIX + name, value.encode())
    except OSError as error:
        exit_code = EXIT_USAGE if error.errno == errno.EINVAL else 1
        raise ForebayError(_set_error(path, name, value, error), exit_code) from None


def _error_text(path: str, error: OSError) -> str:
    if error.errno in (errno.ENODATA, errno.EOPNOTSUPP):
        return f"{path} is not a mount of emufs or a file in one; /proc/mounts lists all mounts"
    if error.errno in (errno.ENOTCONN, errno.ECONNABORTED):
        return f"{path}: its emufs was killed; `forebay emufs unmount {path}` cleans up"
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"{path}: permission denied; run as its owner or as root"
    return f"{path}: {os.strerror(error.errno)}; check the path"


def _set_error(path: str, name: str, value: str, error: OSError) -> str:
    texts = {
        errno.EINVAL: f"{path}: its machine cannot have {name} {value}; see `forebay machine show`",
        errno.EEXIST: f"{path} has data, so its layout is fixed; set the layout of an empty file",
        errno.ENOENT: f"{path}: no such file in the mount; use a path from the mount point",
        errno.EXDEV: f"{path}: the name leads out of the mount; name a file in it",
        errno.EMFILE: f"{path} has no room for eio faults; run `forebay emufs fault clear {path}`",
    }
    return texts.get(error.errno) or _error_text(path, error)
