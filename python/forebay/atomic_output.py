# SPDX-License-Identifier: Apache-2.0
"""Writes a file so that its name appears only when the file is complete.

The rules are those of `forebay::TemporaryFile` of the library. A temporary file with a random name
is created exclusively beside the target, synced and renamed. Symbolic links are followed. The mode
of a replaced file is kept. Devices and pipes cannot be replaced by a rename, so they are written
directly.
"""

import contextlib
import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from forebay.errors import ForebayError

NAME_BYTES_MAX = 255
SUFFIX_BYTES = 21  # ".tmp-" and 16 digits


def is_special_file(file: str | Path) -> bool:
    """Whether `file` is a device, a pipe or a socket."""
    try:
        mode = os.stat(file).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextlib.contextmanager
def atomic_write(file: str | Path) -> Iterator[Path]:
    """Yields the path to write to, and renames it to `file` if the block ends without an exception.

    Errors of the file system are raised as a ForebayError that names `file`.
    """
    try:
        if is_special_file(file):
            yield Path(file)
            return
        with _make_temporary(Path(os.path.realpath(file))) as temporary:
            yield temporary
    except OSError as error:
        cause = f"{error.strerror or error}{_free_space(file, error)}"
        message = f"cannot write {file}: {cause}; name another"
        raise ForebayError(message) from None


def _free_space(file: str | Path, error: OSError) -> str:
    """A text with the free bytes of the file system of `file`, if `error` is that it is full."""
    if error.errno != errno.ENOSPC:
        return ""
    free = shutil.disk_usage(Path(os.path.realpath(file)).parent).free
    return f"; the file system has {free} bytes free"


@contextlib.contextmanager
def _make_temporary(target: Path) -> Iterator[Path]:
    if target.is_dir():
        raise IsADirectoryError(0, "it is a directory")
    stem = os.fsencode(target.name)[: NAME_BYTES_MAX - SUFFIX_BYTES].decode(errors="ignore")
    temporary = target.with_name(f"{stem}.tmp-{secrets.token_hex(8)}")
    # Never readable by more users than the old file. A new file follows the umask.
    mode = 0o600 if target.exists() else 0o666
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    owner = os.getpid()
    try:
        _copy_mode(descriptor, target)
        yield temporary
        os.fsync(descriptor)
        os.replace(temporary, target)
    finally:
        os.close(descriptor)
        if os.getpid() == owner:  # a child of fork() must not remove its parent's file
            temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _copy_mode(descriptor: int, target: Path) -> None:
    """Copies owner, group and mode of a replaced file. If owner or group cannot be kept, removes
    permissions that would then apply to others."""
    try:
        old = target.stat()
    except FileNotFoundError:
        return
    try:
        os.fchown(descriptor, old.st_uid, old.st_gid)
    except PermissionError:
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, -1, old.st_gid)
    made, mode = os.fstat(descriptor), stat.S_IMODE(old.st_mode)
    if made.st_gid != old.st_gid:
        mode &= ~stat.S_IRWXG
    if (made.st_uid, made.st_gid) != (old.st_uid, old.st_gid):
        mode &= ~(stat.S_ISUID | stat.S_ISGID)
    os.fchmod(descriptor, mode)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # such file systems make names durable without it
            raise
    finally:
        os.close(descriptor)


def write_text(file: str | Path, text: str) -> None:
    with atomic_write(file) as place:
        place.write_text(text, encoding="utf-8")
