# SPDX-License-Identifier: Apache-2.0
"""Writing a file so that its name appears only when it is complete.

The same rules as `forebay::TemporaryFile` of the library: a temporary file with a random name,
created exclusively beside the target, is synced and renamed; links are followed, and the mode of a
replaced file is kept. Devices and pipes have no name to give, so they are written through.
"""

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from forebay.errors import ForebayError

NAME_BYTES_MAX = 255
RANDOM_BYTES = 16


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
        message = f"cannot write {file}: {error.strerror or error}; name another"
        raise ForebayError(message) from None


@contextlib.contextmanager
def _temporary_beside(target: Path) -> Iterator[Path]:
    if target.is_dir():
        raise IsADirectoryError(0, "it is a directory")
    prefix = os.fsencode(target.name)[: NAME_BYTES_MAX - RANDOM_BYTES].decode(errors="ignore")
    descriptor, name = tempfile.mkstemp(prefix=f"{prefix}.tmp-", dir=target.parent)
    temporary = Path(name)
    try:
        _take_mode(descriptor, target)
        yield temporary
        os.fsync(descriptor)
        os.replace(temporary, target)
    finally:
        os.close(descriptor)
        temporary.unlink(missing_ok=True)
    _sync_folder(target.parent)


def _take_mode(descriptor: int, target: Path) -> None:
    """That of the file that is replaced, with fewer rights where its owner or group cannot be kept;
    for a new file what the umask leaves."""
    try:
        old = target.stat()
    except FileNotFoundError:
        umask = os.umask(0o077)
        os.umask(umask)
        os.fchmod(descriptor, 0o666 & ~umask)
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
