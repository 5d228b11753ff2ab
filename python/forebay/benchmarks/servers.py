# SPDX-License-Identifier: Apache-2.0
"""`forebay bench servers`: a file on a mount of emufs, read by a growing number of tasks through a
session and by each task itself, and the requests of its servers meanwhile."""

import tempfile
from pathlib import Path

from forebay import emufs, native
from forebay.benchmarks.pfs import MEBIBYTE, MEGABYTE, TASK_COUNTS
from forebay.benchmarks.reading import measure_reading, reading_kernel
from forebay.benchmarks.rows import Results, Setup

RANKS = 2
FILE_BYTES = {"quick": 64 * MEBIBYTE, "usual": 256 * MEBIBYTE, "full": 1024 * MEBIBYTE}
BACKENDS = {"naive": "posix:per-call", "forebay": "session"}  # by reader
IDS = tuple(f"servers.{tasks}" for tasks in TASK_COUNTS)
NO_MOUNT = (
    "the directory is not in a mount of emufs; create one with `forebay emufs mount`, and name it "
    "with --dir"
)


def limit_seconds(root: str, size: int) -> float:
    """The shortest time of a read from the storage that is mounted; 0 without a limit."""
    with tempfile.TemporaryDirectory(prefix="forebay-bench-") as folder:
        path = Path(folder) / "machine.toml"
        path.write_text(emufs.machine(root), encoding="utf-8")
        machine = native.tools().show_machine(path)
    rate = machine["summary"]["read_mb_per_s"]
    return size / MEGABYTE / rate if rate else 0.0


class Bench:
    def __init__(self, results: Results, setup: Setup):
        self.results = results
        self.folder = setup.storage
        self.size = FILE_BYTES[setup.effort]
        self.ranks = setup.ranks or RANKS
        self.on_progress = setup.on_progress

    def run(self) -> None:
        tasks = [one for one in TASK_COUNTS if self.results.is_selected(f"servers.{one}")]
        root = emufs.find_root(self.folder)
        if root is not None:
            self.measure(root, tasks)
            return
        for one in tasks:
            self.results.skip(f"servers.{one}", NO_MOUNT)

    def measure(self, root: str, tasks: list[int]) -> None:
        """One round is enough: times are of the emulated machine and not of the disk, and 16384
        opens take long. A step before the others has the costs of first use."""
        kernel = reading_kernel(self.size, (tasks[0], *tasks), self.ranks)
        options = {"rounds": 1, "warm_ups": 0, "emufs_root": root}
        backends = tuple(BACKENDS.values())
        document, times = measure_reading(
            kernel, self.folder, backends, self.on_progress, **options
        )
        self.results.machine = document["machine"]
        requests = {one["backend"]: one["requests"] for one in document["runs"]}
        runs = []
        for step, count in enumerate(tasks, 1):
            seconds = {reader: times.of(name, step)[0] for reader, name in BACKENDS.items()}
            for reader, name in BACKENDS.items():
                about = {"tasks": count, "reader": reader, "seconds": seconds[reader]}
                runs.append(requests[name][step] | about)
            peers = {reader: ("s", [found]) for reader, found in seconds.items()}
            ratio = seconds["forebay"] / seconds["naive"]
            self.results.add(f"servers.{count}", "1", [ratio], peers=peers)
        self.results.parameters |= {
            "ranks": self.ranks,
            "file_bytes": self.size,
            "storage": emufs.statistics(root)["machine"],
            "limit_s": limit_seconds(root, self.size),
            "runs": runs,
        }
