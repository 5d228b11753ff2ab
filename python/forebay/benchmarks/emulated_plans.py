# SPDX-License-Identifier: Apache-2.0
"""Rows of `forebay bench sim` that write kernels on storage that emufs emulates: times of the model
beside those of real runs. docs/benchmarks.md has the results."""

import random
from pathlib import Path
from statistics import fmean, median

from forebay import step_model
from forebay.agreement import kendall_tau
from forebay.benchmarks.rows import Goal, Results, Setup
from forebay.emufs_mount import mount_machine
from forebay.kernel.advise import run_whole
from forebay.kernel.kernel_file import sized_kernel
from forebay.kernel.run import RunSettings
from forebay.planning import WITH_AGGREGATORS
from forebay.tune.plans import backend_of

MACHINE = "lustre-small"
RANKS = 8  # with 4, the servers in use leave only three levels of times
MEGABYTE = 1_000_000
SEED = 30

ERROR, TAU = "sim.emufs.error", "sim.emufs.tau"
IDS = (ERROR, TAU)
PLANS = {"quick": 6, "usual": 40, "full": 40}
ROUNDS = 2
STEPS = 4  # of the longer runs; the shorter ones have one
SIZES = {
    "uniform": {"family": "uniform", "low": 12 * MEGABYTE, "high": 20 * MEGABYTE},
    "normal": {"family": "normal", "mean": 12 * MEGABYTE, "deviation": 3 * MEGABYTE},
    "exponential": {"family": "exponential", "mean": 16 * MEGABYTE},
}
METHODS = ("formula", "flow", "event")
UNITS_KIB = (64, 256, 1024, 4096)
STRIPE_COUNTS = (1, 2, 4)


def random_plans(count: int, ranks: int, seed: int) -> list[dict]:
    """Different plans with any numbers of writers, files and servers, as plan files have them. One
    step is in flight at a time."""
    generator = random.Random(seed)
    plans: list[dict] = []
    while len(plans) < count:
        strategy = generator.choice(("file-per-process", "baton", *WITH_AGGREGATORS))
        writers = generator.randint(1, ranks)
        plan = {"strategy": strategy, "writers": writers if strategy in WITH_AGGREGATORS else ranks}
        plan["files"] = plan["writers"]
        if strategy != "file-per-process":
            plan["files"] = generator.randint(1, plan["writers"])
        plan["unit_bytes"] = generator.choice(UNITS_KIB) << 10
        plan["stripe_count"] = generator.choice(STRIPE_COUNTS)
        plan["steps_in_flight"] = 1
        if plan not in plans:
            plans.append(plan)
    return plans


class Bench:
    def __init__(self, results: Results, setup: Setup):
        self.results = results
        self.setup = setup

    def run(self) -> None:
        self.results.run_groups({self.add_model: (ERROR, TAU)})

    def step_times(self, name: str, storage: Path, plans: list[dict]) -> list[float]:
        """Seconds of a further step of each plan, the median of rounds: a run of several steps less
        a run of one, so that what a run costs once does not count."""
        times = {}
        for steps in (1, STEPS):
            kernel = sized_kernel(SIZES[name], RANKS, steps, seed=SEED, name=name)
            backends = tuple(map(backend_of, plans))
            settings = RunSettings(backends, storage, RANKS, rounds=ROUNDS, compute_scale=0)
            document = run_whole(kernel, settings, self.setup.on_progress)
            self.results.machine = document["machine"]
            times[steps] = {backend: [] for backend in backends}
            for one in document["runs"]:
                times[steps][one["backend"]].append(one["durable_s"] - one["fill_s"])
        return [
            (median(times[STEPS][one]) - median(times[1][one])) / (STEPS - 1)
            for one in map(backend_of, plans)
        ]

    def add_model(self) -> None:
        """Real steps of random plans, and the time that each method computes for their bytes."""
        plans = random_plans(PLANS[self.setup.effort], RANKS, SEED)
        errors: dict[str, list[float]] = {method: [] for method in METHODS}
        taus: dict[str, list[float]] = {method: [] for method in METHODS}
        details = []
        with mount_machine(MACHINE, self.setup.storage) as storage:
            for name in SIZES:
                real = self.step_times(name, storage, plans)
                for method in METHODS:
                    modeled = self.modeled(name, plans, method)
                    errors[method] += [abs(m / r - 1) for m, r in zip(modeled, real, strict=True)]
                    taus[method].append(kendall_tau(zip(real, modeled, strict=True)))
                    details.append({"kernel": name, "method": method, "seconds": modeled})
                details.append({"kernel": name, "method": "real", "seconds": real})
        self.results.parameters["sim.emufs"] = {"plans": plans, "times": details}
        peers = {method: ("1", found) for method, found in errors.items()}
        self.results.add(ERROR, "1", errors["flow"], Goal(0.10, "lower"), peers)
        peers = {method: ("1", found) for method, found in taus.items()}
        self.results.add(TAU, "1", taus["flow"], Goal(0.85), peers)

    def modeled(self, name: str, plans: list[dict], method: str) -> list[float]:
        """Seconds of the steps after the first one, on average."""
        kernel = sized_kernel(SIZES[name], RANKS, STEPS, seed=SEED, name=name)
        request = {"machine": MACHINE, "ranks": RANKS, "nodes": 1, "method": method}
        request |= {"kernel": kernel.plan(RANKS), "plans": plans}
        found = step_model.simulate_steps(request)
        return [fmean(step["durable_s"] for step in one["steps"][1:]) for one in found]
