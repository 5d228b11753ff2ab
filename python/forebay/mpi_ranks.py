# SPDX-License-Identifier: Apache-2.0
"""Communicators of mpi4py as ranks of a Runtime."""

from forebay.exceptions import UnsupportedError


def ranks_of(comm):
    """The ranks of a communicator. Collective.

    Raises InvalidArgumentError for a freed communicator, and UnsupportedError if mpi4py uses
    another MPI library than this installation of Forebay, or if it was built without MPI.
    """
    try:
        import _forebay_mpi
    except ImportError as error:
        raise _unsupported(
            f"this installation has no MPI ({error}); build it from source"
        ) from None
    try:
        from mpi4py import MPI
    except ImportError:
        raise _unsupported("mpi4py is not installed; run pip install mpi4py") from None
    if not isinstance(comm, MPI.Comm):
        raise TypeError(f"comm is a {type(comm).__name__}, not a communicator of mpi4py")
    ours, theirs = _forebay_mpi.library_version(), MPI.Get_library_version()
    if ours.rstrip("\0\n") != theirs.rstrip("\0\n"):
        names = f"{theirs.splitlines()[0]}, Forebay uses {ours.splitlines()[0]}"
        raise _unsupported(f"mpi4py uses {names}; set MPI4PY_LIBMPI to the library of Forebay")
    return _forebay_mpi.ranks_at(MPI._addressof(comm))


def _unsupported(cause: str) -> UnsupportedError:
    return UnsupportedError(f"use a communicator: {cause}")
