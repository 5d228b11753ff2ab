# SPDX-License-Identifier: Apache-2.0
"""Stand-alone C programs of kernels: the sources of the runner, and the kernel as data."""

import shlex
import shutil
from pathlib import Path

from forebay import native
from forebay.errors import EXIT_USAGE, ForebayError
from forebay.kernel.kernel_file import Kernel
from forebay.kernel.run import PROGRAM, plan_file

# In the source tree, and in share/forebay of an installed prefix.
SOURCE_DIRECTORY = native.SOURCE_DIRECTORY / "kernels"
COMMON = ("kernel.h", "backend.h", "runner.h", "run_files.h", "compute.h")
SOURCES = (
    "calls.c",
    "compute.c",
    "content.c",
    "draw.c",
    "job.c",
    "run_files.c",
    "runner.c",
    "emitted_main.c",
)
# Flags of the linker; pkg-config finds the libraries of the others.
LIBRARIES = {"posix": "", "mpiio": "", "hdf5": "hdf5", "pmpio": "hdf5", "pnetcdf": "pnetcdf"}


def emit(kernel: Kernel, ranks: int, backends: list[str], folder: Path) -> dict:
    """Writes the program in a new directory. Returns its files and the commands to use it."""
    for name in backends:
        if name not in LIBRARIES:
            known = ", ".join(LIBRARIES)
            raise ForebayError(f"{name} cannot be emitted; backends in C are {known}", EXIT_USAGE)
    sources = [*COMMON, *SOURCES, *(f"{name}.c" for name in backends)]
    try:
        folder.mkdir()
    except OSError as error:
        message = f"create directory {folder}: {error.strerror}; name a new one"
        raise ForebayError(message) from None
    try:
        for name in sources:
            shutil.copy(SOURCE_DIRECTORY / name, folder / name)
        arguments = [part for name in backends for part in ("--backend", name)]
        with plan_file(kernel, ranks) as plan:
            native.run_program(PROGRAM, ["emit", str(plan), "--dir", str(folder), *arguments])
        (folder / "Makefile").write_text(_makefile(backends), encoding="utf-8")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    files = sorted(path.name for path in folder.iterdir())
    quoted = shlex.quote(str(folder))
    run = f"mpiexec -n {ranks} {quoted}/kernel DIRECTORY"
    return {"directory": str(folder), "files": files, "build": f"make -C {quoted}", "run": run}


def _makefile(backends: list[str]) -> str:
    modules = sorted({LIBRARIES[name] for name in backends} - {""})
    flags = f" $(shell pkg-config --cflags --libs {' '.join(modules)})" if modules else ""
    return (
        "CC = mpicc\nCFLAGS = -O2 -std=c11\n\n"
        f"kernel: $(wildcard *.c *.h)\n\t$(CC) $(CFLAGS) *.c -o $@{flags} -lm\n"
    )
