# SPDX-License-Identifier: Apache-2.0
"""Kernels of tasks that read one file, for benchmarks of reading."""

from dataclasses import dataclass
from pathlib import Path

from forebay.benchmarks.rows import ratios
from forebay.errors import ForebayError
from forebay.kernel.advise import run_whole
from forebay.kernel.kernel_file import Kernel, make_kernel
from forebay.kernel.run import RunSettings


def reading_kernel(file_bytes: int, task_counts: tuple[int, ...], ranks: int) -> Kernel:
    """A file that is written before the clock starts. Each step reads all of it, with one call for
    each task, and has another number of tasks."""
    write = {"name": "input", "do": "write", "when": "before", "size": file_bytes // ranks}
    size = {"family": "replay", "file": ""}
    read = {"name": "tasks", "do": "read", "from": "input", "size": size}
    document = {"format": 1, "name": "tasks", "writers": ranks, "steps": len(task_counts)}
    kernel = make_kernel(document | {"operation": [write, read]}, "tasks")
    kernel.operations[1].size.set_values([[file_bytes // tasks] for tasks in task_counts])
    return kernel


@dataclass(frozen=True)
class Times:
    """Seconds of reading, by backend, round and step."""

    by_backend: dict[str, list[list[float]]]

    def of(self, backend: str, step: int = 0) -> list[float]:
        return [steps[step] for steps in self.by_backend[backend]]

    def ratio(self, over: str, under: str) -> list[float]:
        """Of the first step, one for each round."""
        return ratios(self.of(over), self.of(under))


def times_of(document: dict) -> Times:
    """Of the slowest rank in each step."""
    by_backend: dict[str, list[list[float]]] = {name: [] for name in document["backends"]}
    for one in document["runs"]:
        by_backend[one["backend"]].append([max(ranks) for ranks in one["phases"]["read"]])
    return Times(by_backend)


def measure_reading(
    kernel: Kernel, storage: Path, backends: tuple[str, ...], on_progress=None, **options
) -> tuple[dict, Times]:
    """The document of paired rounds, and its times. Each read finds the file in no cache.

    Raises the error of a backend that fails.
    """
    settings = RunSettings(backends, storage, kernel.writers, cold=True, keep_input=True, **options)
    document = run_whole(kernel, settings, on_progress)
    for backend, why in document["failures"].items():
        raise ForebayError(f"{backend}: {why}")
    return document, times_of(document)
