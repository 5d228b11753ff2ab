# SPDX-License-Identifier: Apache-2.0
"""`forebay bench pfs`: rows that compare sessions with other ways to read the calls of many tasks.
Rows about views and streams are in C++. docs/benchmarks.md has the results."""

from itertools import product
from pathlib import Path
from statistics import median

from forebay import native
from forebay.benchmarks.reading import Times, measure_reading, reading_kernel
from forebay.benchmarks.rows import Goal, Results, Setup, ratios
from forebay.emufs_mount import mount_machine

SESSION = "session"  # with the plan of the library
ROUNDS = 5
MEBIBYTE = 1 << 20
MEGABYTE = 1e6

LIMIT = "pfs.over_limit"
MACHINE = "lustre-small"
FILE_BYTES = {"quick": 64 * MEBIBYTE, "usual": 1024 * MEBIBYTE, "full": 4096 * MEBIBYTE}
TASK_COUNTS = (2, 32, 512, 8192, 16384)
NAIVE_TASKS = {"quick": 2048, "usual": 16384, "full": 16384}
# How tasks read themselves, and how many times as long they take at least.
NAIVE = {
    "pfs.naive_over_session": ("posix:per-call", 3.3),
    "pfs.naive_fd_over_session": ("posix:shared", 2.4),
}

AUTO = "pfs.auto.over_best"
AUTO_GOAL = 1.15
AUTO_MACHINES = ("nfs", "lustre-small", "gpfs-small")
AUTO_FILE_MIB = {"quick": (32,), "usual": (64, 256), "full": (64, 256)}
AUTO_RANKS = (1, 2)
AUTO_TASKS = 512
FINALISTS = 3
SIZES_KIB = (256, 1024, 4096)  # of splinters and requests
DEPTHS = (4, 16, 64)
WINDOW_MIB_MIN = 16

IDS = (LIMIT, *NAIVE, AUTO)
NATIVE_IDS = (
    *("pfs.overlap", "pfs.istream", "pfs.streams"),
    *("pfs.subarray.over_rows", "pfs.tipsy.over_changa"),
)


def plans_to_sweep(ranks: int) -> tuple[str, ...]:
    """Agents x splinter x request x depth; agents only for several ranks, which share a node. No
    request is longer than its splinter. Windows have twice the bytes in flight, as in plans of the
    library."""
    agents = ("",) if ranks == 1 else ("per-rank,", "per-node,")
    return tuple(
        f"{SESSION}:{agent}splinter_kib={splinter},request_kib={request},depth={depth},"
        f"window_mib={max(WINDOW_MIB_MIN, 2 * max(depth * request, splinter) // 1024)}"
        for agent, splinter, request, depth in product(agents, SIZES_KIB, SIZES_KIB, DEPTHS)
        if request <= splinter
    )


def fastest(times: Times, count: int) -> list[str]:
    """Of the plans of a sweep, without the automatic one."""
    plans = [name for name in times.by_backend if name != SESSION]
    return sorted(plans, key=lambda name: median(times.of(name)))[:count]


def over_fastest(times: Times) -> list[float]:
    """The automatic plan / the fastest other one, in each round."""
    others = [times.of(name) for name in times.by_backend if name != SESSION]
    best = [min(found) for found in zip(*others, strict=True)]
    return ratios(times.of(SESSION), best)


class Bench:
    def __init__(self, results: Results, setup: Setup):
        self.results = results
        self.folder = setup.storage
        self.effort = setup.effort
        self.on_progress = setup.on_progress

    def run(self) -> None:
        groups = {self.add_limit: (LIMIT,), self.add_naive: tuple(NAIVE), self.add_auto: (AUTO,)}
        self.results.run_groups(groups)

    def measure(self, storage: Path, size: int, tasks: tuple[int, ...], *backends: str, **options):
        kernel = reading_kernel(size, tasks, options.pop("ranks", 1))
        document, times = measure_reading(kernel, storage, backends, self.on_progress, **options)
        self.results.machine = document["machine"]
        return times

    def add_limit(self) -> None:
        """The slowest number of tasks / the time of the file at the bandwidth of the storage."""
        size = FILE_BYTES[self.effort]
        with mount_machine(MACHINE, self.folder) as storage:
            times = self.measure(storage, size, TASK_COUNTS, SESSION, rounds=ROUNDS)
        summary = native.tools().show_machine(MACHINE)["summary"]
        limit_s = size / MEGABYTE / summary["read_mb_per_s"]
        values = [max(steps) / limit_s for steps in times.by_backend[SESSION]]
        peers = {f"{n} tasks": ("s", times.of(SESSION, i)) for i, n in enumerate(TASK_COUNTS)}
        self.results.add(LIMIT, "1", values, Goal(1.03, "lower"), peers)

    def add_naive(self) -> None:
        size, tasks = FILE_BYTES[self.effort], (NAIVE_TASKS[self.effort],)
        backends = (SESSION, *(backend for backend, _ in NAIVE.values()))
        with mount_machine(MACHINE, self.folder) as storage:
            times = self.measure(storage, size, tasks, *backends, rounds=ROUNDS)
        peers = {backend: ("s", times.of(backend)) for backend in backends}
        for name, (backend, goal) in NAIVE.items():
            if self.results.is_selected(name):
                self.results.add(name, "1", times.ratio(backend, SESSION), Goal(goal), peers)

    def add_auto(self) -> None:
        """The worst combination of machine, size and number of ranks."""
        found: dict[str, list[float]] = {}
        details = []
        for machine in AUTO_MACHINES:
            with mount_machine(machine, self.folder) as storage:
                for mebibytes, ranks in product(AUTO_FILE_MIB[self.effort], AUTO_RANKS):
                    name = f"{machine}, {mebibytes} MiB, {ranks} rank{'s' * (ranks > 1)}"
                    found[name], about = self.sweep(storage, mebibytes * MEBIBYTE, ranks)
                    details.append({"combination": name, "over_best": median(found[name])} | about)
        self.results.parameters[AUTO] = details
        worst = max(found.values(), key=median)
        peers = {name: ("1", values) for name, values in found.items()}
        self.results.add(AUTO, "1", worst, Goal(AUTO_GOAL, "lower"), peers)

    def sweep(self, storage: Path, size: int, ranks: int) -> tuple[list[float], dict]:
        """Each plan runs once. The automatic plan and the fastest others run in paired rounds, so
        an error of a single run only costs a plan its place among the fastest."""
        plans, tasks = plans_to_sweep(ranks), (AUTO_TASKS,)
        once = {"ranks": ranks, "rounds": 1, "warm_ups": 0}
        # The automatic plan is first and has the costs of first use.
        screened = self.measure(storage, size, tasks, SESSION, *plans, **once)
        finalists = fastest(screened, FINALISTS)
        options = {"ranks": ranks, "rounds": ROUNDS}
        final = self.measure(storage, size, tasks, SESSION, *finalists, **options)
        seconds = [screened.of(name)[0] for name in plans]
        best = fastest(final, 1)[0]
        return over_fastest(final), {
            "plans": len(plans),
            "best": best,
            "seconds": {name: median(final.of(name)) for name in (SESSION, best)},
            "slowest_over_best": max(seconds) / min(seconds),
        }
