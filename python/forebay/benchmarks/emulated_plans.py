# SPDX-License-Identifier: Apache-2.0
"""Rows of `forebay bench sim` that write kernels on storage that emufs emulates: times of the model
beside those of real runs. docs/benchmarks.md has the results."""

import random
from pathlib import Path
from statistics import median

from forebay import step_model
from forebay.benchmarks.rows import Goal, Results, Setup
from forebay.emufs_mount import mount_machine
from forebay.errors import SkippedError
from forebay.kernel import run as kernel_run
from forebay.kernel.advise import run_whole
from forebay.kernel.kernel_file import Kernel, sized_kernel
from forebay.kernel.run import RunSettings

MACHINE = "lustre-small"
RANKS = 8
MEGABYTE = 1_000_000
SEED = 30

ERROR, TAU = "sim.emufs.error", "sim.emufs.tau"
PLANS = {"quick": 6, "usual": 40, "full": 40}
ROUNDS = 3
SIZES = {
    "uniform": {"family": "uniform", "low": 6 * MEGABYTE, "high": 10 * MEGABYTE},
    "normal": {"family": "normal", "mean": 2.4 * MEGABYTE, "deviation": 0.6 * MEGABYTE},
    "exponential": {"family": "exponential", "mean": 8 * MEGABYTE},
}
METHODS = ("formula", "flow", "event")
UNITS_KIB = (256, 1024, 4096)


def random_plans(count: int, ranks: int, seed: int) -> list[dict]:
    """Different plans of each strategy with any numbers of writers and files, as plan files have
    them. One step is in flight at a time."""
    generator = random.Random(seed)
    plans: list[dict] = []
    while len(plans) < count:
        strategy = generator.choice(
            ["file-per-process", "baton", "reduced-blocking", "brigade", "gather"]
        )
        writers = generator.randint(1, ranks)
        plan = {"strategy": strategy, "writers": ranks if strategy != "reduced-blocking" else 0}
        if strategy in ("reduced-blocking", "brigade", "gather"):
            plan["writers"] = writers
        plan["files"] = plan["writers"]
        if strategy != "file-per-process":
            plan["files"] = generator.randint(1, plan["writers"])
        plan["unit_bytes"] = generator.choice(UNITS_KIB) << 10
        if plan not in plans:
            plans.append(plan)
    return plans


def backend_of(plan: dict) -> str:
    """The plan as a backend of a kernel."""
    numbers = f"writers={plan['writers']},files={plan['files']}"
    return f"forebay:{plan['strategy']},{numbers},unit_kib={plan['unit_bytes'] >> 10}"


def step_bytes(kernel: Kernel, ranks: int) -> list[list[int]]:
    """Bytes by step and rank."""
    drawn = kernel_run.draw(kernel, ranks, sizes_max=0)["operations"]
    steps = zip(*(one["bytes"] for one in drawn), strict=True)
    return [[sum(ranks) for ranks in zip(*step, strict=True)] for step in steps]


class Bench:
    def __init__(self, results: Results, setup: Setup):
        self.results = results
        self.setup = setup

    def run(self) -> None:
        selected = list(filter(self.results.is_selected, (ERROR, TAU)))
        try:
            if selected:
                self.add_model()
        except SkippedError as why:
            for name in selected:
                self.results.skip(name, str(why))

    def durations(self, kernel: Kernel, storage: Path, backends, **options) -> dict:
        """Seconds until the step is durable by backend, one for each round."""
        settings = RunSettings(tuple(backends), storage, RANKS, compute_scale=0, **options)
        document = run_whole(kernel, settings, self.setup.on_progress)
        self.results.machine = document["machine"]
        found: dict[str, list[float]] = {}
        for one in document["runs"]:
            found.setdefault(one["backend"], []).append(one["durable_s"])
        return found

    def add_model(self) -> None:
        """Real runs of random plans, and the time that each method computes for their bytes."""
        plans = random_plans(PLANS[self.setup.effort], RANKS, SEED)
        errors: dict[str, list[float]] = {method: [] for method in METHODS}
        taus: dict[str, list[float]] = {method: [] for method in METHODS}
        details = []
        with mount_machine(MACHINE, self.setup.storage) as storage:
            for name, size in SIZES.items():
                kernel = sized_kernel(size, RANKS, steps=1, seed=SEED, name=name)
                measured = self.durations(kernel, storage, map(backend_of, plans), rounds=ROUNDS)
                real = [median(measured[backend_of(plan)]) for plan in plans]
                for method in METHODS:
                    modeled = self.modeled(kernel, plans, method)
                    errors[method] += [abs(m / r - 1) for m, r in zip(modeled, real, strict=True)]
                    taus[method].append(_tau(real, modeled))
                    details.append({"kernel": name, "method": method, "seconds": modeled})
                details.append({"kernel": name, "method": "real", "seconds": real})
        self.results.parameters["sim.emufs"] = {"plans": plans, "times": details}
        peers = {method: ("1", found) for method, found in errors.items()}
        self.results.add(ERROR, "1", errors["flow"], Goal(0.10, "lower"), peers)
        peers = {method: ("1", found) for method, found in taus.items()}
        self.results.add(TAU, "1", taus["flow"], Goal(0.85), peers)

    def modeled(self, kernel: Kernel, plans: list[dict], method: str) -> list[float]:
        request = {"machine": MACHINE, "ranks": RANKS, "nodes": 1, "method": method}
        request |= {"steps": step_bytes(kernel, RANKS), "plans": plans}
        return [one["steps"][0]["durable_s"] for one in step_model.simulate_steps(request)]


def _tau(real: list[float], modeled: list[float]) -> float:
    from scipy.stats import kendalltau

    return float(kendalltau(real, modeled).statistic)
