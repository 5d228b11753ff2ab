# SPDX-License-Identifier: Apache-2.0
"""Programs whose reads a preloaded library cannot see: static ones, those of Go, and those with
other rights than their caller."""

import contextlib
import os
import shutil
import stat
import struct

ELF_MAGIC, ELF_64_LITTLE_ENDIAN = b"\x7fELF", b"\x02\x01"
PROGRAM_HEADER_INTERPRETER = 3
HEADER_BYTES = 64
GO_MARK = b"\xff Go buildinf:"  # at the begin of a section of each program of Go
SEARCHED_BYTES_MAX = 64 * 2**20
SCRIPTS_MAX = 4  # interpreters that are scripts themselves


def reason_of(program: str) -> str | None:
    """Why the reads of a program are not recorded; None if they are, or if it cannot be read.
    Without a slash, it is searched in PATH. Of a script, its interpreter counts."""
    path = program if "/" in program else shutil.which(program)
    for _ in range(SCRIPTS_MAX):
        try:
            with open(path, "rb") as file:
                head = file.read(HEADER_BYTES * 4)
                if head.startswith(ELF_MAGIC):
                    return _rights_reason(file.fileno()) or _reason_of_elf(file, head)
        except (OSError, TypeError, ValueError, struct.error):
            return None
        interpreter = head[2:].split(b"\n")[0].split()
        if not head.startswith(b"#!") or not interpreter:
            return None
        path = os.fsdecode(interpreter[0])
    return None


def escaped(programs: list[str]) -> list[dict]:
    """Those of the programs that are not recorded, each with the reason."""
    found = {program: reason_of(program) for program in programs}
    return [{"program": program, "why": why} for program, why in sorted(found.items()) if why]


def _rights_reason(descriptor: int) -> str | None:
    status = os.fstat(descriptor)
    gains_user = status.st_mode & stat.S_ISUID and status.st_uid != os.getuid()
    gains_group = status.st_mode & stat.S_ISGID and status.st_gid != os.getgid()
    if gains_user or gains_group:
        return "set-uid or set-gid"
    with contextlib.suppress(OSError):
        if os.geteuid() != 0 and os.getxattr(descriptor, "security.capability"):
            return "file capabilities"
    return None


def _reason_of_elf(file, head: bytes) -> str | None:
    if head[4:6] != ELF_64_LITTLE_ENDIAN:
        return "not for this machine"
    offset, size, count = (
        *struct.unpack_from("<Q", head, 32),
        *struct.unpack_from("<HH", head, 54),
    )
    file.seek(offset)
    table = file.read(size * count)
    kinds = [struct.unpack_from("<I", table, at)[0] for at in range(0, len(table), size)]
    file.seek(0)
    if GO_MARK in file.read(SEARCHED_BYTES_MAX):
        return "a program of Go"
    return None if PROGRAM_HEADER_INTERPRETER in kinds else "statically linked"
