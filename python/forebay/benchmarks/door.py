# SPDX-License-Identifier: Apache-2.0
"""`forebay bench door`: Forebay from other languages and libraries, beside their own ways."""

import json
import subprocess
import sys
import time
from pathlib import Path

from forebay import emufs_mount, hdf5_driver
from forebay.benchmarks.python_program import TIMEOUT_S, run_python
from forebay.benchmarks.rows import (
    Goal,
    Results,
    Setup,
    paired_rounds,
    ratios,
    require_space,
)
from forebay.errors import ForebayError, SkippedError

VFD = "door.vfd"
CLI_VERSION, CLI_LS = "door.cli_ms.version", "door.cli_ms.ls"
CLI_GOALS = {CLI_VERSION: Goal(120, "lower"), CLI_LS: Goal(300, "lower")}
IDS = (*CLI_GOALS, VFD)
NATIVE_IDS = ("door.c_ns", "door.fortran", "door.strided", "door.tasks", "door.view_us")
VFD_GOAL = Goal(5)
MACHINE = "nfs"
# Clients of NFS keep attributes for 3 s (acregmin).
CLIENT_CACHES = ("--no-sync", "--attribute-cache", "3")
ROUNDS = 5
CLI_ROUNDS = 7
CLI_STEPS = 1000

# A matrix of 64-bit numbers, of which the program reads 16 columns of every 8th row.
ROWS = {"quick": 1024, "usual": 4096, "full": 16384}
COLUMNS = 8192
ROW_BYTES = 8 * COLUMNS
READ_HYPERSLAB = """
import hashlib, json, sys, time
import h5py
begin = time.perf_counter()
with h5py.File(sys.argv[1], "r") as file:
    values = file["matrix"][::8, 64:80]
seconds = time.perf_counter() - begin
print(json.dumps({"seconds": seconds, "values": hashlib.sha256(values.tobytes()).hexdigest()}))
"""
WRITE_STEPS = """
import sys
import forebay, numpy
with forebay.Runtime() as runtime, runtime.create_dataset(sys.argv[1]) as dataset:
    for number in range(int(sys.argv[2])):
        with dataset.step(number) as step:
            step.put("u", numpy.full(16, float(number)), part=0)
"""
WRITE_MATRIX = """
import sys
import h5py, numpy
rows, columns = int(sys.argv[2]), int(sys.argv[3])
with h5py.File(sys.argv[1], "w") as file:
    matrix = file.create_dataset("matrix", (rows, columns), "i8")
    for row in range(0, rows, 64):
        matrix[row : row + 64] = numpy.arange(64 * columns).reshape(64, columns) + row * columns
"""


def milliseconds(words: tuple[object, ...]) -> float:
    """The time of a command line of this program."""
    command = [sys.executable, *map(str, (sys.argv[0], *words))]
    begin = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, timeout=TIMEOUT_S, check=True)
    return 1e3 * (time.perf_counter() - begin)


class Bench:
    def __init__(self, results: Results, setup: Setup):
        self.results = results
        self.folder = setup.storage
        self.rows = ROWS[setup.effort]
        self.on_progress = setup.on_progress

    def run(self) -> None:
        self.results.run_groups({self.add_cli: tuple(CLI_GOALS), self.add_vfd: (VFD,)})

    def add_cli(self) -> None:
        """From the start of the command to its end, with the start of Python."""
        dataset = self.folder / "steps.fb"
        try:
            run_python(WRITE_STEPS, dataset, CLI_STEPS)
        except ForebayError as error:
            raise SkippedError(f"the Python module cannot write a dataset: {error}") from None
        words = {CLI_VERSION: ("--version",), CLI_LS: ("ls", dataset)}
        variants = {name: lambda given=given: milliseconds(given) for name, given in words.items()}
        times = paired_rounds("door.cli_ms", variants, CLI_ROUNDS, self.on_progress)
        for name in filter(self.results.is_selected, CLI_GOALS):
            self.results.add(name, "ms", times[name], CLI_GOALS[name])
        self.results.parameters |= {"cli_steps": CLI_STEPS}

    def add_vfd(self) -> None:
        """A strided hyperslab of a file on NFS with h5py: HDF5's default driver / ours. Both start
        with cold caches, and must read equal values."""
        size = self.rows * ROW_BYTES
        require_space(self.folder, 2 * size)
        matrix = self.folder / "matrix.h5"
        try:
            run_python(WRITE_MATRIX, matrix, self.rows, COLUMNS)
        except ForebayError as error:
            raise SkippedError(f"h5py cannot write a file: {error}") from None
        with emufs_mount.mounted_storage(MACHINE, self.folder, CLIENT_CACHES) as storage:
            (storage.path / matrix.name).touch()
            matrix.replace(storage.backing / matrix.name)
            times = self.time_drivers(storage, storage.path / matrix.name)
        peers = {name: ("s", seconds) for name, seconds in times.items()}
        ratio = ratios(times["default"], times["forebay"])
        self.results.add(VFD, "1", ratio, VFD_GOAL, peers)
        self.results.parameters |= {"vfd_rows": self.rows, "vfd_row_bytes": ROW_BYTES}

    def time_drivers(
        self, storage: emufs_mount.EmulatedStorage, path: Path
    ) -> dict[str, list[float]]:
        drivers = {"default": {}, "forebay": hdf5_driver.environment()}
        digests = set()

        def timed(environment: dict[str, str]) -> float:
            storage.drop_caches()
            found = json.loads(run_python(READ_HYPERSLAB, path, environment=environment))
            digests.add(found["values"])
            return found["seconds"]

        variants = {
            name: lambda environment=environment: timed(environment)
            for name, environment in drivers.items()
        }
        times = paired_rounds(VFD, variants, ROUNDS, self.on_progress)
        if len(digests) != 1:
            raise ForebayError(f"{VFD}: the drivers read different values from {path}")
        return times
