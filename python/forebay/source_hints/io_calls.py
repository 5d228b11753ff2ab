# SPDX-License-Identifier: Apache-2.0
"""Calls that read, and the meaning of their arguments, by position."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Read:
    """`size`: arguments whose product is the number of bytes. Without `offset`, the call reads at
    the position of the file and advances it."""

    file: int
    size: tuple[int, ...]
    offset: int | None = None
    datatype: int | None = None


READS = {
    "read": Read(0, (2,)),
    "pread": Read(0, (2,), 3),
    "pread64": Read(0, (2,), 3),
    "fread": Read(3, (1, 2)),
    "MPI_File_read_at": Read(0, (3,), 1, 4),
    "MPI_File_read_at_all": Read(0, (3,), 1, 4),
}
# File, offset, whence.
SEEKS = {"lseek", "lseek64", "fseek", "fseeko", "fseeko64"}
TELLS = {"ftell", "ftello", "ftello64"}
OPENS = {"open", "open64", "openat", "fopen", "fopen64", "fdopen"}
EXITS = {"exit", "_exit", "abort", "MPI_Abort"}

# Reads that no hint describes, and the argument that is the file.
OTHER_READS = {
    **dict.fromkeys(("readv", "preadv", "preadv2", "fgetc", "getc", "fscanf"), 0),
    **dict.fromkeys(("MPI_File_read", "MPI_File_read_all", "MPI_File_iread"), 0),
    **dict.fromkeys(("MPI_File_iread_at", "MPI_File_read_shared", "MPI_File_read_ordered"), 0),
    **dict.fromkeys(("fgets", "getline"), 2),
}

DATATYPE_BYTES = {
    **dict.fromkeys(("MPI_BYTE", "MPI_CHAR", "MPI_SIGNED_CHAR", "MPI_UNSIGNED_CHAR"), 1),
    **dict.fromkeys(("MPI_INT8_T", "MPI_UINT8_T"), 1),
    **dict.fromkeys(("MPI_SHORT", "MPI_UNSIGNED_SHORT", "MPI_INT16_T", "MPI_UINT16_T"), 2),
    **dict.fromkeys(("MPI_INT", "MPI_UNSIGNED", "MPI_FLOAT", "MPI_INT32_T", "MPI_UINT32_T"), 4),
    **dict.fromkeys(("MPI_LONG", "MPI_UNSIGNED_LONG", "MPI_LONG_LONG", "MPI_DOUBLE"), 8),
    **dict.fromkeys(("MPI_LONG_LONG_INT", "MPI_INT64_T", "MPI_UINT64_T", "MPI_OFFSET"), 8),
    **dict.fromkeys(("MPI_AINT", "MPI_UNSIGNED_LONG_LONG", "MPI_COMPLEX"), 8),
    "MPI_DOUBLE_COMPLEX": 16,
}
