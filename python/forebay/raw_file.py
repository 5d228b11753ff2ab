# SPDX-License-Identifier: Apache-2.0
"""File objects over sessions, for libraries that read file objects: NumPy, h5py, pandas."""

import io

from forebay.exceptions import ClosedError

MODES = ("r", "rb", "br")


class RawFile(io.RawIOBase):
    """A read-only binary file object. Positions count from the start of the session's extent.

    Any thread may call it, one at a time. close() closes the session.
    """

    def __init__(self, session):
        self._session = session
        self._offset = session.offset
        self._size = session.size
        self._position = 0
        self.name = session.path
        self.mode = "rb"

    @property
    def session(self):
        """The session that reads."""
        return self._session

    def readable(self):
        return True

    def seekable(self):
        return True

    def tell(self):
        self._check_open()
        return self._position

    def seek(self, offset, whence=io.SEEK_SET):
        self._check_open()
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}
        if whence not in base:
            raise ValueError(f"whence is {whence}; it is 0, 1 or 2")
        if base[whence] + offset < 0:
            raise ValueError(f"seek to {base[whence] + offset}, before the start of the file")
        self._position = base[whence] + offset
        return self._position

    def readinto(self, buffer):
        self._check_open()
        view = memoryview(buffer)
        if not view.nbytes:  # cast() refuses shapes with a zero
            return 0
        into = view.cast("B")[: max(0, self._size - self._position)]
        if into.nbytes:
            self._session.readinto(self._offset + self._position, into).result()
            self._position += into.nbytes
        return into.nbytes

    def readall(self):
        self._check_open()
        rest = max(0, self._size - self._position)
        data = self._session.read(self._offset + min(self._position, self._size), rest).result()
        self._position += rest
        return data

    def write(self, _data):
        raise io.UnsupportedOperation("write: the file is open for reading alone")

    def close(self):
        if not self.closed:
            self._session.close()
        super().close()

    def _check_open(self):
        if self.closed or self._session.closed:
            raise ClosedError(f"read {self.name}: the file is closed")


def open_file(runtime, path, mode="rb", on_demand=True, **options) -> RawFile:
    """Opens a file object: Runtime.open()."""
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}; files are opened for reading alone: 'rb'")
    return RawFile(runtime.open_session(path, on_demand=on_demand, **options))
