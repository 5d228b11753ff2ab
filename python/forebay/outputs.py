# SPDX-License-Identifier: Apache-2.0
"""Writing a file so that its name appears only when it is complete.

The same rules as `forebay::TemporaryFile` of the library: a temporary file with a random name,
created exclusively beside the target, is synced and renamed; links are followed, and the mode of a
replaced file is kept. Devices and pipes have no name to give, so they are written through.
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


def is_written_through(file: str | Path) -> bool:
    """Whether `file` is a device, a pipe or a socket."""
    try:
        mode = os.stat(file).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


@contextlib.contextmanager
def publishing(file: str | Path) -> Iterator[Path]:
    """Gives the path to write to, and gives the file its name when the block ends without an
    exception. Errors of the file system are a ForebayError that names `file`."""
    try:
        if is_written_through(file):
            yield Path(file)
            return
        with _temporary_beside(Path(os.path.realpath(file))) as temporary:
            yield temporary
    except OSError as error:
        message = (
            f"cannot write {file}: {error.strerror or error}{_room(file, error)}; name another"
        )
        raise ForebayError(message) from None


def _room(file: str | Path, error: OSError) -> str:
    """The free bytes beside `file`, if `error` reports a full file system."""
    if error.errno != errno.ENOSPC:
        return ""
    free = shutil.disk_usage(Path(os.path.realpath(file)).parent).free
    return f"; the file system has {free} bytes free"


@contextlib.contextmanager
def _temporary_beside(target: Path) -> Iterator[Path]:
    if target.is_dir():
        raise IsADirectoryError(0, "it is a directory")
    stem = os.fsencode(target.name)[: NAME_BYTES_MAX - SUFFIX_BYTES].decode(errors="ignore")
    temporary = target.with_name(f"{stem}.tmp-{secrets.token_hex(8)}")
    # Never readable by more than the old file was; a new file follows the umask.
    mode = 0o600 if target.exists() else 0o666
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    owner = os.getpid()
    try:
        _take_mode(descriptor, target)
        yield temporary
        os.fsync(descriptor)
        os.replace(temporary, target)
    finally:
        os.close(descriptor)
        if os.getpid() == owner:  # a child of fork() leaves the file to its parent
            temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _take_mode(descriptor: int, target: Path) -> None:
    """Takes over owner, group and mode of the file that is replaced, if there is one, with fewer
    rights where owner or group cannot be kept."""
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
        if error.errno != errno.EINVAL:  # file systems that keep names durable by themselves
            raise
    finally:
        os.close(descriptor)


def write_text(file: str | Path, text: str) -> None:
    with publishing(file) as place:
        place.write_text(text, encoding="utf-8")
