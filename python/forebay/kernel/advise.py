# SPDX-License-Identifier: Apache-2.0
"""The best setting for a kernel on a storage, measured: successive halving over all candidates
(Karnin, Koren, Somekh, ICML'13)."""

from dataclasses import dataclass, replace
from statistics import median

from forebay.errors import ForebayError
from forebay.kernel import metrics
from forebay.kernel.kernel_file import Kernel
from forebay.kernel.run import RunSettings, run

FINALISTS = 3
FINAL_ROUNDS = 5
METRIC = "durable_s"
APPLY = {
    "posix": "each rank writes a file of its own",
    "posix:shared": "all ranks write one file, each at its offset",
    "posix:direct": "a file for each rank, with O_DIRECT, posix_fallocate() and fsync()",
    "mpiio": "MPI_File_write_at()",
    "mpiio:collective": "MPI_File_write_at_all()",
    "forebay": "a dataset of Forebay with the plan that it chooses",
    "session": "all ranks write one file, each at its offset, and read it in a session of Forebay",
    "session:per-node": "the same, with one agent for the ranks of a node (ReadPlan.tuning)",
}


@dataclass(frozen=True)
class Advice:
    """`times` has the seconds of the final rounds by setting."""

    advised: str
    baseline: str
    times: dict[str, list[float]]
    tried: dict[str, float]  # of all settings: the last time, in seconds
    failures: dict[str, str]

    def document(self) -> dict:
        pairs = zip(self.times[self.baseline], self.times[self.advised], strict=True)
        return {
            "advised": self.advised,
            "how": how_to_apply(self.advised),
            "today": self.baseline,
            "worth": metrics.summary([one / other for one, other in pairs]),
            "final": {name: metrics.summary(found) for name, found in self.times.items()},
            "tried": dict(sorted(self.tried.items(), key=lambda one: one[1])),
            "failures": self.failures,
        }


def candidates(kernel: Kernel, ranks: int) -> tuple[str, ...]:
    """Settings of an application, from the simplest on."""
    readers = ("session", "session:per-node") if reads(kernel) else ()
    aggregators = sorted({1, max(1, ranks // 4), max(1, ranks // 2)})
    strategies = [
        f"forebay:{strategy},writers={count}"
        for strategy in ("reduced-blocking", "brigade", "gather")
        for count in aggregators
    ]
    hints = [f"mpiio:collective,cb_nodes={count}" for count in aggregators]
    by_hand = ("posix", "posix:direct", "posix:shared", "mpiio", "mpiio:collective")
    disabled = "mpiio:collective,romio_cb_write=disable"
    plans = ("forebay", "forebay:file-per-process", "forebay:collective")
    return (*by_hand, *readers, *hints, disabled, *plans, *strategies)


def reads(kernel: Kernel) -> bool:
    return any(operation.do == "read" for operation in kernel.operations)


def how_to_apply(setting: str) -> str:
    name, _, options = setting.partition(":")
    if setting in APPLY:
        return APPLY[setting]
    if name == "mpiio":
        hints = [word for word in options.split(",") if "=" in word]
        return f"MPI_File_write_at_all(), with the MPI_Info hints {', '.join(hints)}"
    strategy, *rest = options.split(",")
    values = [f'strategy = "{strategy}"', *(word.replace("=", " = ") for word in rest)]
    return f"a dataset of Forebay with a plan file (FOREBAY_PLAN) of {'; '.join(values)}"


def run_whole(kernel: Kernel, settings: RunSettings, on_progress) -> dict:
    """run() that fails if the job has ended early: settings without a run are not the slow ones."""
    document = run(kernel, settings, on_progress)
    if document["error"]:
        raise ForebayError(document["error"])
    return document


def advise(kernel: Kernel, settings: RunSettings, baseline: str, on_progress=None) -> Advice:
    """Runs all candidates once and keeps the faster half, until few are left; these and the
    baseline run in paired rounds. Blocks for as long as all of these runs take."""
    left = [*dict.fromkeys((baseline, *settings.backends))]
    tried: dict[str, float] = {}
    failures: dict[str, str] = {}
    while len(left) > FINALISTS:
        one_round = replace(settings, backends=tuple(left), rounds=1, warm_ups=0)
        document = run_whole(kernel, one_round, on_progress)
        failures |= document["failures"]
        for one in document["runs"]:
            tried[one["backend"]] = metrics.values_of(one)[METRIC]
        left = [name for name in sorted(tried, key=tried.get) if name in left]
        left = [name for name in left if name not in failures][: max(FINALISTS, len(left) // 2)]
        if not left:
            raise ForebayError(f"no setting works: {next(iter(failures.values()))}")
    names = tuple(dict.fromkeys((*left, baseline)))
    final = run_whole(kernel, replace(settings, backends=names, rounds=FINAL_ROUNDS), on_progress)
    failures |= final["failures"]
    times = {
        name: [metrics.values_of(one)[METRIC] for one in final["runs"] if one["backend"] == name]
        for name in names
    }
    times = {name: found for name, found in times.items() if found}
    if baseline not in times:
        raise ForebayError(f"{baseline}, as in the log, failed: {failures[baseline]}")
    advised = min(times, key=lambda name: median(times[name]))
    return Advice(advised, baseline, times, tried, failures)
