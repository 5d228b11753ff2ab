# SPDX-License-Identifier: Apache-2.0
"""Rows of `forebay bench tune` with real runs on storage that emufs emulates: the default plan
beside the best strategy, a search beside all plans, and a solver that tunes itself.
docs/benchmarks.md has the results."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

from forebay import native
from forebay.benchmarks.rows import Goal, Results, Setup, ratios
from forebay.emufs_mount import mount_machine
from forebay.kernel.advise import run_whole
from forebay.kernel.kernel_file import Kernel, read_kernel, sized_kernel
from forebay.kernel.run import RunSettings
from forebay.strategies import PRESETS
from forebay.tune import plans
from forebay.tune.kernel_search import KernelSearch, TuneSettings
from forebay.tune.methods import make_method
from forebay.tune.profile import add_entry, read_profile
from forebay.tune.search import Budget, Search

MACHINES = ("lustre-small", "gpfs-small", "pvfs-small")
RANKS = 4
KIBIBYTE, MEBIBYTE = 1 << 10, 1 << 20

AUTO, AUTO_WORST = "auto.over_best", "auto.over_best.worst"
AUTO_ROUNDS = {"quick": 1, "usual": 3, "full": 5}
AUTO_STEPS = 4
SHIPPED = ("enzo", "s3d", "qmcpack-traces", "qmcpack-scalars", "phasta")
EQUAL_BYTES = (64 * KIBIBYTE, 512 * KIBIBYTE, 4 * MEBIBYTE, 16 * MEBIBYTE)
DEFAULT = "forebay"

SEARCH = "tune.emufs"
SEARCH_RANKS = 2
SEARCH_RUNS = 15
SEARCH_ROUNDS = 3

PRODUCTION, REGRET = "tune.production", "tune.production.regret"
FLOW = "forebay-flow-mpi"
CHECKPOINTS = {"quick": 20, "usual": 40, "full": 40}
PRODUCTION_ROUNDS = {"quick": 1, "usual": 5, "full": 5}
MESH = ("--cells", "14", "--parts", "8")
EVERY = 20  # steps between checkpoints: the solver computes for longer than a checkpoint takes
SOLVER = ("--every", str(EVERY), "--keep", "2", "--averages", "920")  # checkpoints of 100 MB
STARTS = 8  # checkpoints before the tuner is expected to avoid slow plans
BAD = {"strategy": "baton", "writers": RANKS, "files": 1, "unit_bytes": MEBIBYTE}
GOOD = (
    {"strategy": "file-per-process"},
    {"strategy": "reduced-blocking", "writers": 1},
    {"strategy": "reduced-blocking", "writers": 2},
    {"strategy": "reduced-blocking", "writers": 4, "files": 1},
    {"strategy": "gather", "writers": 2},
    {"strategy": "baton", "files": 2},
)
IDS = (AUTO, AUTO_WORST, SEARCH, PRODUCTION, REGRET)


def auto_kernels() -> Iterator[Kernel]:
    """Ten kernels: shipped ones, equal ranks, and exponential ones."""
    for name in SHIPPED:
        yield read_kernel(name).model_copy(update={"steps": AUTO_STEPS})
    for size in EQUAL_BYTES:
        name = f"equal-{size // KIBIBYTE}-kib"
        yield sized_kernel({"family": "constant", "value": size}, RANKS, AUTO_STEPS, name=name)
    size = {"family": "exponential", "mean": 2 * MEBIBYTE}
    yield sized_kernel(size, RANKS, AUTO_STEPS, name="exponential-2-mib")


def over_best(times: dict[str, list[float]]) -> tuple[str, list[float]]:
    """The fastest strategy by its median, and the default's time over its time in each round."""
    best = min((name for name in times if name != DEFAULT), key=lambda name: median(times[name]))
    return best, ratios(times[DEFAULT], times[best])


class Bench:
    def __init__(self, results: Results, setup: Setup):
        self.results = results
        self.setup = setup

    def run(self) -> None:
        groups = {
            self.add_auto: (AUTO, AUTO_WORST),
            self.add_search: (SEARCH,),
            self.add_production: (PRODUCTION, REGRET),
        }
        self.results.run_groups(groups)

    def durations(self, kernel: Kernel, settings: RunSettings) -> dict[str, list[float]]:
        """Seconds until all steps are durable, by backend, one for each round."""
        document = run_whole(kernel, settings, self.setup.on_progress)
        self.results.machine = document["machine"]
        times: dict[str, list[float]] = {}
        for one in document["runs"]:
            times.setdefault(one["backend"], []).append(one["durable_s"])
        return times

    def add_auto(self) -> None:
        """Each kernel on each machine: the default beside all strategies, each as chosen."""
        backends = (DEFAULT, *(f"{DEFAULT}:{preset}" for preset in PRESETS))
        pairs, details = {}, []
        for machine in MACHINES:
            with mount_machine(machine, self.setup.storage) as storage:
                rounds = AUTO_ROUNDS[self.setup.effort]
                settings = RunSettings(backends, storage, RANKS, rounds=rounds, compute_scale=0)
                for kernel in auto_kernels():
                    times = self.durations(kernel, settings)
                    best, found = over_best(times)
                    pairs[f"{kernel.name} on {machine}"] = median(found)
                    medians = {name: median(one) for name, one in times.items()}
                    details.append({"kernel": kernel.name, "machine": machine, "best": best})
                    details[-1] |= {"over_best": median(found), "seconds": medians}
        self.results.parameters[AUTO] = details
        self.results.add(AUTO, "1", list(pairs.values()), Goal(1.15, "lower"))
        slowest = sorted(pairs, key=pairs.get)[-3:]
        peers = {name: ("1", [pairs[name]]) for name in slowest}
        self.results.add(AUTO_WORST, "1", [max(pairs.values())], Goal(1.6, "lower"), peers)

    def add_search(self) -> None:
        """The plan that a search recommends / the fastest of all plans, each measured in rounds."""
        kernel = sized_kernel(
            {"family": "uniform", "low": 12 * MEBIBYTE, "high": 20 * MEBIBYTE}, SEARCH_RANKS, 2
        )
        with mount_machine(MACHINES[0], self.setup.storage) as storage:
            run = RunSettings((), storage, SEARCH_RANKS, compute_scale=0)
            settings = TuneSettings(run, Budget(runs=SEARCH_RUNS), machine=MACHINES[0])
            search = KernelSearch(kernel, settings, self.setup.on_progress)
            method = make_method("gp", search.space, 1, search.predicted)
            outcome = Search(method, search.measure, settings.budget).run()
            backends = tuple(map(plans.backend_of, search.space.plans))
            exhaustive = replace(run, backends=backends, rounds=SEARCH_ROUNDS)
            times = self.durations(kernel, exhaustive)
        found = plans.backend_of(search.space.plans[outcome.best])
        fastest = min(times, key=lambda name: median(times[name]))
        peers = {
            "plans": ("1", [len(backends)]),
            "runs of the search": ("1", [len(outcome.trials)]),
            f"fastest: {fastest}": ("s", times[fastest]),
            f"found: {found}": ("s", times[found]),
        }
        values = [median(times[found]) / median(times[fastest])]
        self.results.add(SEARCH, "1", values, Goal(1.05, "lower"), peers)

    def add_production(self) -> None:
        """A solver whose first plan is bad: tuned, and with the best plan from the start, in paired
        rounds. A value is that of the worst machine in a round."""
        rounds = range(PRODUCTION_ROUNDS[self.setup.effort])
        details, peers = [], {}
        for machine in MACHINES:
            with mount_machine(machine, self.setup.storage) as storage:
                mesh = storage / "mesh.fb"
                self.flow("generate", str(mesh), *MESH)
                best = self.best_plan(mesh, storage)
                bad = self.bad_profile(mesh, storage)
                runs = [
                    self.paired_runs(mesh, storage / f"round-{one}", best, bad) for one in rounds
                ]
            details.append({"machine": machine, "best": best, "rounds": runs})
            for kind in ("steady", "tuned"):
                seconds = [second for run in runs for second in run[kind]]
                peers[f"{machine}, {kind}"] = ("s", seconds)
        self.results.parameters[PRODUCTION] = details
        totals = worst_of_rounds(details, lambda run: sum(run["tuned"]) / sum(run["steady"]))
        self.results.add(PRODUCTION, "1", totals, Goal(1.25, "lower"), peers)
        regrets = worst_of_rounds(
            details, lambda run: max(run["tuned"][STARTS:]) / median(run["steady"])
        )
        noise = worst_of_rounds(
            details, lambda run: max(run["steady"][STARTS:]) / median(run["steady"])
        )
        peers = {"slowest / median of the best plan": ("1", noise)}
        self.results.add(REGRET, "1", regrets, Goal(1.5, "lower"), peers)

    def paired_runs(self, mesh: Path, storage: Path, best: dict, bad: str) -> dict:
        """{"steady","tuned"}: durable seconds of each checkpoint with the best plan, and tuned."""
        storage.mkdir()
        profile = storage / "bad.tuning"
        profile.write_text(bad, encoding="utf-8")
        return {
            "steady": seconds_of(self.checkpoints(mesh, storage / "best.fb", best)),
            "tuned": seconds_of(self.checkpoints(mesh, storage / "tuned.fb", None, profile)),
        }

    def bad_profile(self, mesh: Path, storage: Path) -> str:
        """The text of a profile for this mount and solver, whose plan is slow everywhere."""
        learned, bad = storage / "learned.tuning", storage / "bad.tuning"
        self.checkpoints(mesh, storage / "learned.fb", None, learned, steps=3)
        add_entry(bad, read_profile(learned)[0] | {"plan": BAD, "points": []})
        return bad.read_text(encoding="utf-8")

    def flow(self, *arguments: str) -> dict:
        words = list(arguments)
        return native.run_program(FLOW, words, self.setup.on_progress, ranks=RANKS).document

    def best_plan(self, mesh: Path, storage: Path) -> dict:
        """The plan with the shortest checkpoints."""
        times = {}
        for number, plan in enumerate(GOOD):
            records = self.checkpoints(mesh, storage / f"try-{number}.fb", plan, steps=8)
            times[number] = median(seconds_of(records))
        return GOOD[min(times, key=times.get)]

    def checkpoints(
        self, mesh: Path, store: Path, plan: dict | None, profile: Path | None = None, steps=None
    ) -> list[dict]:
        """The records of the checkpoints of a run with this plan, or a tuned one."""
        steps = steps or CHECKPOINTS[self.setup.effort]
        words = ["run", str(mesh), "--steps", str(EVERY * steps)]
        words += ["--checkpoints", str(store), *SOLVER]
        if plan is None:
            words.append("--tune")
        else:
            file = store.with_suffix(".toml")
            file.write_text("".join(f"{key} = {json.dumps(plan[key])}\n" for key in plan))
            words += ["--plan", str(file)]
        with variable("FOREBAY_TUNING", str(profile or "")):
            return self.flow(*words)["checkpoint_report"]["steps"]


def seconds_of(records: list[dict]) -> list[float]:
    return [one["durable_s"] for one in records]


def worst_of_rounds(details: list[dict], value: Callable[[dict], float]) -> list[float]:
    """The largest value of all machines in each round."""
    return [max(map(value, runs)) for runs in zip(*(one["rounds"] for one in details), strict=True)]


@contextlib.contextmanager
def variable(name: str, value: str) -> Iterator[None]:
    """An environment variable for programs that start in the `with` block."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
