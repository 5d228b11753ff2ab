#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python programs of `forebay bench run`, and the files that all its programs read.

    forebay-bench-programs.py make DIRECTORY N    writes the files
    forebay-bench-programs.py NAME DIRECTORY N    runs a program
    forebay-bench-programs.py needs PACKAGE ...   fails if a package is missing

N scales sizes and numbers of reads.

Each program imports what it uses, as a program of a user does, and prints a result.
"""

import contextlib
import importlib.util
import os
import sys
from pathlib import Path

STRIDE = 65536
STEPS = range(10, 26)
MODULES = 30  # of each package


def series_blocks(count: int) -> int:
    """Blocks of each file of a series: 4 MiB for an N of 200."""
    return count * 8 // 25


# Files.
def make_texts(folder: Path, count: int) -> None:
    import array
    import random

    array.array("Q", range(count * STRIDE * 2)).tofile((folder / "data").open("wb"))
    numbers = random.Random(3)
    with (folder / "text").open("w", encoding="ascii") as out:
        for _ in range(count * 1000):
            out.write(f"{numbers.getrandbits(128):x} {numbers.choice(' abc')}\n")
    (folder / "many").mkdir()
    for i in range(40):
        (folder / "many" / str(i)).write_bytes(bytes(5000))
    for i in STEPS:
        (folder / f"step-{i}").write_bytes(numbers.randbytes(series_blocks(count) * STRIDE))


def make_tree(folder: Path, count: int) -> None:
    """Packages with byte code, in all 300 modules for an N of 200."""
    import compileall
    import py_compile
    import random

    sizes = random.Random(7)
    tree, packages = folder / "tree", range(count // 20)
    for package in packages:
        path = tree / f"part{package}"
        path.mkdir(parents=True)
        for module in range(MODULES):
            lines = int(sizes.lognormvariate(5, 1))
            body = [f"def f{i}(a, b={i}):\n    return a * {i} + b" for i in range(lines)]
            (path / f"m{module}.py").write_text("\n".join(body) + "\nVALUE = f0(1)\n")
        names = (f"from tree.part{package} import m{i}\n" for i in range(MODULES))
        (path / "__init__.py").write_text("".join(names))
    parts = (f"from tree import part{i}\n" for i in packages)
    (tree / "__init__.py").write_text("".join(parts))
    # Copies have other times of modification.
    compileall.compile_dir(
        tree, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH
    )


def make_hdf5(folder: Path, count: int) -> None:
    import h5py
    import numpy as np

    with h5py.File(folder / "contiguous.h5", "w") as file:
        rows = file.create_dataset("a", (count * 12, 16384), "f8")  # of 128 KiB each
        rows[:, :16] = np.arange(count * 192.0).reshape(-1, 16)
    with h5py.File(folder / "chunked.h5", "w") as file:
        data = np.arange(count * 5 * 4096.0).reshape(-1, 4096)
        file.create_dataset("a", data=data, chunks=(8, 512))
    for step in STEPS:
        with h5py.File(folder / f"flow-{step}.h5", "w") as file:
            for name in "uv":
                file[name] = np.arange(count * 1300.0) + step


def make_database(folder: Path, count: int) -> None:
    import random
    import sqlite3

    numbers = random.Random(5)
    with contextlib.closing(sqlite3.connect(folder / "table.db")) as base, base:
        base.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, k INTEGER, v TEXT)")
        rows = ((numbers.getrandbits(40), "v" * numbers.randrange(900)) for _ in range(count * 300))
        base.executemany("INSERT INTO t (k, v) VALUES (?, ?)", rows)
        base.execute("CREATE INDEX by_k ON t (k)")


def make_zarr(folder: Path, _count: int) -> None:
    import numpy as np
    import zarr

    values = np.arange(1024 * 1024.0).reshape(1024, 1024)
    zarr.create_array(folder / "z.zarr", data=values, chunks=(64, 64), compressors=None)


def make_xarray(folder: Path, _count: int) -> None:
    import numpy as np
    import xarray as xr

    values = np.arange(64 * 128 * 128.0).reshape(64, 128, 128)
    field = xr.DataArray(values, dims=("time", "y", "x"), name="u")
    field.to_dataset().to_zarr(folder / "x.zarr", encoding={"u": {"chunks": (1, 64, 128)}})


def make(folder: Path, count: int) -> None:
    """Writes all files. Leaves out those that need a package which is missing."""
    folder.mkdir()
    for write in (make_texts, make_tree, make_hdf5, make_database, make_zarr, make_xarray):
        with contextlib.suppress(ImportError):
            write(folder, count)


# Programs.
def read_open(folder, count):
    with open(f"{folder}/data", "rb") as file:
        total = 0
        for i in range(count * 6):
            file.seek(i * STRIDE)
            total += int.from_bytes(file.read(1024)[:8], "little")
    return total


def read_pread(folder, count):
    file = os.open(f"{folder}/data", os.O_RDONLY)
    blocks = (os.pread(file, 1024, i * STRIDE) for i in range(count * 6))
    return sum(int.from_bytes(block[:8], "little") for block in blocks)


def read_fromfile(folder, count):
    import numpy as np

    total = 0
    with open(f"{folder}/data", "rb") as file:
        for i in range(count * 2):
            file.seek(i * STRIDE)
            total += int(np.fromfile(file, "u8", 128).sum())
    return total


def read_memmap(folder, count):
    import numpy as np

    data = np.memmap(f"{folder}/data", "u8", "r")
    return int(data[: count * 6 * (STRIDE // 8) : STRIDE // 8].sum())


def read_hyperslab(folder, _count):
    import h5py

    with h5py.File(f"{folder}/contiguous.h5") as file:
        return file["a"][:, :16].sum()


def read_chunked(folder, _count):
    import h5py

    with h5py.File(f"{folder}/chunked.h5") as file:
        return file["a"][:, :512].sum()


def read_zarr(folder, _count):
    import zarr

    return zarr.open_array(f"{folder}/z.zarr", mode="r")[:, :768].sum()


def read_xarray(folder, _count):
    import xarray as xr

    return float(xr.open_zarr(f"{folder}/x.zarr").u.sel(y=slice(0, 64)).mean())


def read_series(folder, count):
    import hashlib

    digest = hashlib.md5()
    for step in STEPS:
        file = os.open(f"{folder}/step-{step}", os.O_RDONLY)
        for block in range(series_blocks(count)):
            digest.update(os.pread(file, 65536, block * 65536))
    return digest.hexdigest()


def read_hdf5_series(folder, _count):
    import h5py

    total = 0
    for step in STEPS:
        with h5py.File(f"{folder}/flow-{step}.h5") as file:
            total += file["u"][:].sum()
    return total


def main() -> None:
    name, *words = sys.argv[1:]
    if name == "needs":
        sys.exit(not all(map(importlib.util.find_spec, words)))
    folder, count = words[0], int(words[1])
    if name == "make":
        make(Path(folder), count)
    else:
        print(globals()[f"read_{name}"](folder, count))


if __name__ == "__main__":
    main()
