# SPDX-License-Identifier: Apache-2.0
"""Rows of `forebay bench checkpoint` about an application that computes: how much longer it takes
with checkpoints, and whether a rank for I/O is worth its core."""

import os

from forebay.benchmarks.checkpoint_cases import ALONE, ROUNDS, STEPS
from forebay.benchmarks.rows import Goal, Results, Setup, ratios
from forebay.kernel import metrics
from forebay.kernel.kernel_file import make_kernel
from forebay.kernel.run import RunSettings, run

RANKS = 2
STEP_BYTES = {"quick": 4 << 20, "usual": 128 << 20, "full": 512 << 20}  # of all ranks
# Storage time of a step / computing time between two steps, and the goal of the slowdown.
LOADS = {"ckpt.overlap": (0.3, 1.10), "ckpt.overlap.heavy": (0.9, 1.25)}
ADOPTED = "forebay:file-per-process,adopt"
DEDICATED = "ckpt.dedicated.over_in_rank"
DEDICATED_SHARE = 0.3
IDS = (*LOADS, DEDICATED)


class Bench:
    """Computation is sized by the storage time of a run just before."""

    def __init__(self, results: Results, setup: Setup):
        self.results = results
        self.setup = setup
        self.step_bytes = STEP_BYTES[setup.effort]

    def run(self) -> None:
        for name, (share, goal) in LOADS.items():
            if self.results.is_selected(name):
                self.add_load(name, share, goal)
        if self.results.is_selected(DEDICATED):
            self.add_dedicated()

    def measure(self, ranks: int, compute_s: float, backends: tuple[str, ...], **options):
        operation = {"name": "block", "do": "write", "size": self.step_bytes // ranks}
        document = {"format": 1, "name": "overlap", "writers": ranks, "steps": STEPS}
        document |= {"compute_s": compute_s, "operation": [operation]}
        settings = RunSettings(
            backends, self.setup.storage, ranks, launcher=self.setup.launcher, **options
        )
        measured = run(make_kernel(document, "overlap"), settings, self.setup.on_progress)
        self.results.machine = measured["machine"]
        return measured

    def drain_s(self) -> float:
        """The time that storage needs for a step without computation."""
        drained = metrics.summarize(self.measure(RANKS, 0, ("forebay",), rounds=1))
        return drained["forebay"]["durable_s"]["value"] / STEPS

    def add_load(self, name: str, share: float, goal: float) -> None:
        total: dict[str, list[float]] = {"cpu": [], "cpu, adopted buffers": [], "memory": []}
        durable, drains = [], []
        for _ in range(ROUNDS):
            drains.append(self.drain_s())
            compute_s = drains[-1] / share
            cpu = self.measure(RANKS, compute_s, (ALONE, "forebay", ADOPTED), rounds=1)
            memory = self.measure(RANKS, compute_s, (ALONE, "forebay"), rounds=1, compute="memory")
            total["cpu"] += slowdown(cpu, "forebay", "total_s")
            total["cpu, adopted buffers"] += slowdown(cpu, ADOPTED, "total_s")
            total["memory"] += slowdown(memory, "forebay", "total_s")
            durable += slowdown(cpu, "forebay", "durable_s")
        peers = {"until durable": ("1", durable)}
        peers |= {kind: ("1", found) for kind, found in total.items() if kind != "cpu"}
        peers["drain of a step"] = ("s", drains)
        self.results.add(name, "1", total["cpu"], Goal(goal, "lower"), peers)

    def add_dedicated(self) -> None:
        """The same bytes and the same work in all, with one rank of the cores for I/O."""
        cores = max(RANKS, os.cpu_count() or RANKS)
        times: dict[str, list[float]] = {"in-rank": [], "dedicated": []}
        for _ in range(ROUNDS):
            compute_s = self.drain_s() / DEDICATED_SHARE
            in_rank = self.measure(cores, compute_s, ("forebay",), rounds=1)
            more_s = compute_s * cores / (cores - 1)
            options = {"rounds": 1, "dedicated": True}
            dedicated = self.measure(cores - 1, more_s, ("forebay",), **options)
            times["in-rank"].append(in_rank["runs"][0]["total_s"])
            times["dedicated"].append(dedicated["runs"][0]["total_s"])
        values = ratios(times["dedicated"], times["in-rank"])
        peers = {f"{name}, {cores} ranks": ("s", found) for name, found in times.items()}
        self.results.add(DEDICATED, "1", values, peers=peers)


def slowdown(document: dict, backend: str, metric: str) -> list[float]:
    """Of each round: a time with checkpoints / the whole time of the application alone."""
    alone = {one["round"]: one["total_s"] for one in document["runs"] if one["backend"] == ALONE}
    return [
        one[metric] / alone[one["round"]]
        for one in document["runs"]
        if one["backend"] == backend and one["round"] in alone
    ]
