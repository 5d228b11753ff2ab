# SPDX-License-Identifier: Apache-2.0
"""`forebay bench site`: an acceptance kit for a machine. It compares Forebay with all that is
installed, in a given time, whatever the speed of the storage. docs/guides/site.md defines the rows.
"""

import os
import shlex
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from forebay import native
from forebay.benchmarks.rows import Results, Setup
from forebay.errors import ForebayError
from forebay.kernel import metrics, provenance
from forebay.kernel.kernel_file import Kernel, make_kernel, to_toml
from forebay.kernel.run import LIBRARY_BACKENDS, RUNNERS, RunSettings, backends_of, run

MINUTES = {"quick": 2, "usual": 20, "full": 60}
ROUNDS = {"quick": 3, "usual": 5, "full": 9}
PILOT_BYTES = 1 << 20  # of a rank
GROWTH_MAX = 8  # from one pilot to the next
PILOTS_MAX = 5
BYTES_MAX = 1 << 30
STORAGE_SHARE = 0.25  # of the free space
MEMORY_SHARE = 0.1  # a rank may hold its bytes several times
TASKS = 1024  # of a rank
BLOCK = 4096
RANKS_MAX = 64  # without --ranks
COMPUTE_FACTOR = 2  # computation between two steps / time that storage needs for a step
ALONE = "none"

BY_HAND = ("posix", "posix:direct", "posix:shared", "mpiio", "mpiio:collective")
STRATEGIES = (
    "forebay",
    "forebay:file-per-process",
    "forebay:file-per-process,adopt",
    "forebay:reduced-blocking",
)
LIBRARIES = {
    "hdf5": ("hdf5", "hdf5:collective"),
    "pmpio": ("pmpio",),
    "pnetcdf": ("pnetcdf",),
    "adios1": ("adios1", "adios1:gather"),
    "adios2": ("adios2", "adios2:StatsLevel=0"),
}
WRITE = {"name": "block", "do": "write"}


@dataclass(frozen=True)
class Scenario:
    """One kernel of some size, and what is compared."""

    id: str
    title: str
    about: str
    operations: Callable[[int], list[dict]]  # of the bytes of a rank
    rows: dict[str, str]  # metric by the end of the id; the first one ranks backends
    own: tuple[str, ...] = STRATEGIES
    by_hand: tuple[str, ...] = BY_HAND
    steps: int = 4
    is_cold: bool = False
    computes: bool = False

    def ids(self) -> list[str]:
        return [self.id + end for end in self.rows]

    def kernel(self, size: int, ranks: int, compute_s: float = 0) -> Kernel:
        document = {"format": 1, "name": self.id.replace(".", "-"), "about": self.about}
        document |= {"writers": ranks, "steps": self.steps, "compute_s": compute_s}
        return make_kernel(document | {"operation": self.operations(size)}, self.id)


def _tasks(size: int) -> list[dict]:
    task = max(1, size // TASKS // BLOCK) * BLOCK
    read = {"name": "tasks", "do": "read", "from": "block", "size": task}
    return [WRITE | {"when": "before", "size": size}, read]


def _regular(size: int) -> list[dict]:
    return [WRITE | {"size": size}]


def _irregular(size: int) -> list[dict]:
    return [WRITE | {"size": {"family": "exponential", "mean": size}}]


def _restart(size: int) -> list[dict]:
    return [
        WRITE | {"when": "before", "size": size},
        {"name": "state", "do": "read", "from": "block"},
    ]


SCENARIOS = (
    Scenario(
        "site.sessions",
        "Many tasks read one file",
        f"{TASKS} tasks of each rank read one file, which is not cached",
        _tasks,
        {"": "blocked_s"},
        own=("session", "session:per-node"),
        by_hand=("posix:shared", "posix:per-call", "mpiio", "mpiio:collective"),
        steps=1,
        is_cold=True,
    ),
    Scenario(
        "site.checkpoint.regular",
        "Checkpoints, the same size on each rank",
        "each rank writes the same number of bytes in each of 4 steps",
        _regular,
        {"": "durable_s", ".blocked": "blocked_s"},
    ),
    Scenario(
        "site.checkpoint.irregular",
        "Checkpoints, exponential sizes",
        "each rank writes another number of bytes in each of 4 steps: exponential sizes",
        _irregular,
        {"": "durable_s", ".blocked": "blocked_s"},
    ),
    Scenario(
        "site.computing",
        "An application that computes between checkpoints",
        f"computation takes {COMPUTE_FACTOR} times as long as storage needs for a step",
        _regular,
        {"": "total_s"},
        computes=True,
    ),
    Scenario(
        "site.restart",
        "Restart",
        "each rank reads what it has written, which is not cached",
        _restart,
        {"": "blocked_s"},
        own=("forebay", "forebay:reduced-blocking"),
        steps=1,
        is_cold=True,
    ),
)
IDS = [name for scenario in SCENARIOS for name in scenario.ids()]


@dataclass
class Sized:
    """The size of a scenario that fits its time, and the backends that work."""

    bytes: int
    backends: tuple[str, ...]
    compute_s: float = 0
    failures: dict[str, str] = field(default_factory=dict)


class Bench:
    """Scenarios one after the other; each gets an equal share of the time that is left."""

    def __init__(self, results: Results, setup: Setup):
        self.results = results
        self.setup = setup
        self.ranks = setup.ranks or min(RANKS_MAX, len(os.sched_getaffinity(0)))
        self.minutes, self.rounds = MINUTES[setup.effort], ROUNDS[setup.effort]
        results.parameters |= {"ranks": self.ranks, "minutes": self.minutes, "scenarios": []}
        results.parameters |= {"command": command_of(setup, self.ranks, results.only)}
        results.parameters |= provenance.origin_of(setup.storage)

    def run(self) -> None:
        chosen = [one for one in SCENARIOS if any(map(self.results.is_selected, one.ids()))]
        libraries = self.libraries()
        end = time.monotonic() + 60 * self.minutes
        errors = []
        for number, scenario in enumerate(chosen):
            seconds = max(0, end - time.monotonic()) / (len(chosen) - number)
            try:
                self.measure(scenario, libraries, seconds)
            except ForebayError as error:
                errors.append(error)
                for name in filter(self.results.is_selected, scenario.ids()):
                    self.results.skip(name, str(error))
        if errors and not self.results.rows:
            raise errors[0]

    def libraries(self) -> tuple[str, ...]:
        """Backends with libraries, of the program that has most. With a launcher, of the first one
        that is built, as the others are for another MPI."""
        programs = list(filter(native.is_built, RUNNERS))
        if self.setup.launcher is not None:
            programs = programs[:1]
        found = [[], *([*backends_of(one, self.setup.launcher)] for one in programs)]
        names = max(found, key=lambda one: len(set(one) & set(LIBRARY_BACKENDS)))
        return tuple(variant for name in names for variant in LIBRARIES.get(name, ()))

    def measure(self, scenario: Scenario, libraries: tuple[str, ...], seconds: float) -> None:
        backends = (*scenario.own, *scenario.by_hand, *libraries)
        backends += (ALONE,) if scenario.computes else ()
        sized = self.size(scenario, backends, seconds)
        kernel = scenario.kernel(sized.bytes, self.ranks, sized.compute_s)
        document = self.run_whole(kernel, scenario, sized, self.rounds, warm_ups=1)
        for name, why in sized.failures.items():
            self.results.skip(f"{name} in {scenario.id}", why)
        self.add_scenario(scenario, kernel, sized, document)

    def settings(self, scenario: Scenario, sized: Sized, rounds: int, warm_ups: int) -> RunSettings:
        return RunSettings(
            sized.backends,
            self.setup.storage,
            self.ranks,
            rounds=rounds,
            warm_ups=warm_ups,
            launcher=self.setup.launcher,
            cold=scenario.is_cold,
            verify_all=True,
        )

    def run_whole(
        self, kernel: Kernel, scenario: Scenario, sized: Sized, rounds: int, warm_ups: int
    ) -> dict:
        """All rounds. Leaves out backends that fail, and repeats a job that one of them ended."""

        def on_progress(step: native.Progress) -> None:
            self.setup.on_progress(replace(step, what=f"{scenario.id}: {step.what}"))

        while True:
            settings = self.settings(scenario, sized, rounds, warm_ups)
            document = run(kernel, settings, on_progress)
            sized.failures |= document["failures"]
            sized.backends = tuple(one for one in sized.backends if one not in sized.failures)
            if not set(sized.backends) & set(scenario.own):
                raise ForebayError(f"no backend works: {next(iter(sized.failures.values()))}")
            if not document["error"]:
                self.results.machine = document["machine"]
                return document
            if not document["failures"]:
                raise ForebayError(document["error"])

    def size(self, scenario: Scenario, backends: tuple[str, ...], seconds: float) -> Sized:
        """Grows the bytes of a rank until a round takes its share of `seconds`. Backends that fail
        are left out."""
        cores = len(os.sched_getaffinity(0))
        local = self.ranks if self.setup.launcher is None else min(self.ranks, cores)
        limit = bytes_max(self.setup.storage, self.ranks, local, scenario.steps)
        goal_s = seconds / (self.rounds + 2)  # the discarded round, and all pilots together
        goal_s /= 1 + COMPUTE_FACTOR * scenario.computes  # pilots do not compute
        sized = Sized(min(PILOT_BYTES, limit), backends)
        pilots: list[tuple[int, float]] = []
        while True:
            begin = time.monotonic()
            kernel = scenario.kernel(sized.bytes, self.ranks)
            document = self.run_whole(kernel, scenario, sized, rounds=1, warm_ups=0)
            pilots.append((sized.bytes, time.monotonic() - begin))
            sized.bytes = next_bytes(pilots, goal_s, limit)
            growth = sized.bytes / pilots[-1][0]
            if growth < 2 or len(pilots) == PILOTS_MAX:
                step_s = storage_s(document, scenario) / scenario.steps * growth
                sized.compute_s = COMPUTE_FACTOR * step_s * scenario.computes
                return sized

    def add_scenario(self, scenario: Scenario, kernel: Kernel, sized: Sized, found: dict) -> None:
        summaries = metrics.summarize(found)
        compared = {}
        for end, metric in scenario.rows.items():
            name = scenario.id + end
            own, other = (
                best_of(summaries, names, metric)
                for names in (scenario.own, set(summaries) - {*scenario.own, ALONE})
            )
            if own is None or other is None:
                if self.results.is_selected(name):
                    self.results.skip(name, "Forebay, or all others, failed")
                continue
            compared[metric] = {
                "own": own,
                "other": other,
                "factor": metrics.summary(metrics.ratios(found, other, own, metric)),
            }
            if self.results.is_selected(name):
                self.add_row(name, found, own, other, metric)
        self.results.parameters["scenarios"].append(
            {
                "id": scenario.id,
                "title": scenario.title,
                "about": scenario.about,
                "bytes_per_rank": sized.bytes,
                "metrics": list(scenario.rows.values()),
                "compared": compared,
                "summaries": summaries,
                "kernel": to_toml(kernel),
                "command": self.command_of(scenario, sized),
                "failures": sized.failures,
            }
            | {key: found[key] for key in ("backends", "libraries", "mpi")}
        )

    def command_of(self, scenario: Scenario, sized: Sized) -> str:
        """The command that repeats a part."""
        settings = self.settings(scenario, sized, self.rounds, warm_ups=1)
        storage = self.setup.storage.absolute().parent
        return provenance.command_of("app.toml", replace(settings, storage=storage))

    def add_row(self, name: str, found: dict, own: str, other: str, metric: str) -> None:
        values: dict[str, list[float]] = {}
        for one in found["runs"]:
            values.setdefault(one["backend"], []).append(metrics.values_of(one)[metric])
        peers = {backend: ("s", of_backend) for backend, of_backend in values.items()}
        self.results.add(name, "1", metrics.ratios(found, own, other, metric), peers=peers)


def command_of(setup: Setup, ranks: int, only: set[str]) -> str:
    """The command that repeats the benchmark."""
    words = ["forebay", "bench", "site", "--dir", str(setup.storage.absolute().parent)]
    words += ["--ranks", str(ranks)]
    words += [] if setup.launcher is None else ["--launcher", setup.launcher]
    words += [] if setup.effort == "usual" else [f"--{setup.effort}"]
    words += ["--only", ",".join(sorted(only))] if only else []
    return shlex.join([*words, "--html", "site.html"])


def next_bytes(pilots: list[tuple[int, float]], goal_s: float, limit: int) -> int:
    """The bytes of a rank with which a run takes `goal_s`, by the line through the last two of
    `pilots`, (bytes, seconds). Far from them, a step in that direction."""
    size, taken_s = pilots[-1]
    growth = GROWTH_MAX if taken_s < goal_s else goal_s / taken_s
    if len(pilots) > 1:
        before, before_s = pilots[-2]
        if taken_s > before_s:
            rate = (size - before) / (taken_s - before_s)
            growth = 1 + rate * (goal_s - taken_s) / size
    growth = min(GROWTH_MAX, max(1 / GROWTH_MAX, growth))
    return max(1, min(limit, int(size * growth)) // BLOCK) * BLOCK


def best_of(summaries: dict, names, metric: str) -> str | None:
    found = [one for one in names if one in summaries and metric in summaries[one]]
    return min(found, key=lambda one: summaries[one][metric]["value"], default=None)


def storage_s(document: dict, scenario: Scenario) -> float:
    """The time that storage needs for all steps, by the best method without Forebay."""
    excluded = (*scenario.own, ALONE)
    times = [one["durable_s"] for one in document["runs"] if one["backend"] not in excluded]
    return min(times, default=0)


def bytes_max(storage: Path, ranks: int, local: int, steps: int) -> int:
    """The most bytes of a rank in a step that space and memory allow; `local` ranks share a node's
    memory."""
    usage = os.statvfs(storage)
    free = usage.f_bavail * usage.f_frsize * STORAGE_SHARE / (ranks * steps)
    memory = memory_bytes() * MEMORY_SHARE / local
    return max(1, int(min(BYTES_MAX, free, memory)) // BLOCK) * BLOCK


def memory_bytes() -> int:
    """Of this machine, or less if a control group limits this process."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        return physical
    return min(physical, int(limit)) if limit.isdecimal() else physical
