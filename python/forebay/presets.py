# SPDX-License-Identifier: Apache-2.0
"""`forebay flow presets`: runs the flow solver with each strategy, on each storage.

The strategies are the presets of a WritePlan, an empty plan, and the directory of files that
programs write by hand.
"""

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from forebay import native
from forebay.emufs_mount import mount_machine
from forebay.errors import ForebayError, SkippedError
from forebay.strategies import PRESETS
from forebay.work_folder import work_folder

PROGRAM = "forebay-flow-mpi"
BASELINE = "folder"
DEFAULT = "auto"
STRATEGIES = (BASELINE, DEFAULT, *PRESETS)
LOCAL, EMULATED = "local", "lustre-small"
STORAGES = {"local": (LOCAL,), "lustre-small": (EMULATED,), "both": (LOCAL, EMULATED)}
METRICS = ("perceived_mb_s", "durable_mb_s", "overhead")


@dataclass(frozen=True)
class Workload:
    """Computation and checkpoints of a run, and the number of runs of each strategy."""

    cells: int = 14
    parts: int = 16
    averages: int = 230  # further numbers at each node, which make checkpoints large
    ranks: int = 4
    steps: int = 6
    every: int = 2
    rounds: int = 3
    limit_s: float | None = None  # of a storage: a further round that exceeds it does not begin


@dataclass(frozen=True)
class Statistics:
    """Median, minimum and maximum of runs."""

    value: float
    spread: tuple[float, float]
    runs: int

    @staticmethod
    def of(values: list[float]) -> "Statistics":
        return Statistics(median(values), (min(values), max(values)), len(values))


@dataclass(frozen=True)
class StrategyResult:
    """Results of one strategy on a storage."""

    name: str
    perceived_mb_s: Statistics
    durable_mb_s: Statistics
    overhead: Statistics  # share of the time in which storage blocked the solver
    files: int  # that a run leaves


@dataclass(frozen=True)
class StorageResults:
    """Results of all strategies on one storage, or the reason why there are none."""

    name: str
    strategies: list[StrategyResult] = field(default_factory=list)
    skipped: str = ""


@dataclass(frozen=True)
class PresetResults:
    """Results on all storages."""

    workload: Workload
    nodes: int
    checkpoint_bytes: int
    storages: list[StorageResults]

    @property
    def rounds(self) -> int:
        """The smallest number of rounds of any storage."""
        runs = [
            strategy.overhead.runs for storage in self.storages for strategy in storage.strategies
        ]
        return min(runs, default=0)

    def to_document(self) -> dict:
        return asdict(self)


OnProgress = Callable[[native.Progress], None]


def measure(
    folder: Path, storages: tuple[str, ...], workload: Workload, on_progress
) -> PresetResults:
    """Generates a mesh in `folder` and runs on all storages. Leaves no file there."""
    require_ranks()
    runs: dict[str, dict[str, list[dict]]] = {}
    skipped: dict[str, str] = {}
    with work_folder(folder, "presets") as own:
        mesh = own / "mesh.fb"
        made = generate(mesh, workload)
        for storage in storages:
            try:
                with _folder_on(storage, folder) as run_folder:
                    runs[storage] = _run_all(
                        mesh, run_folder, workload, _prefix_progress(storage, on_progress)
                    )
            except SkippedError as reason:
                skipped[storage] = str(reason)
    _require_same_bits(runs)
    return PresetResults(
        workload,
        nodes=made["mesh"]["nodes"],
        checkpoint_bytes=_checkpoint_bytes(runs),
        storages=[
            StorageResults(name, _summarize_strategies(runs.get(name, {})), skipped.get(name, ""))
            for name in storages
        ],
    )


def require_ranks() -> None:
    if not native.is_built(PROGRAM):
        raise SkippedError(
            f"{PROGRAM} is not built, as MPI is not installed; see docs/guides/mpi.md"
        )


def generate(mesh: Path, workload: Workload) -> dict:
    options = {"cells": workload.cells, "parts": workload.parts}
    args = ["generate", str(mesh), *native.option_arguments(options)]
    return native.run_program(PROGRAM, args, ranks=workload.ranks).document


@contextlib.contextmanager
def _folder_on(storage: str, folder: Path) -> Iterator[Path]:
    """Yields an empty directory on a storage."""
    is_local = storage == LOCAL
    with (
        work_folder(folder, "presets") if is_local else mount_machine(storage, folder) as run_folder
    ):
        yield run_folder


def _prefix_progress(storage: str, on_progress: OnProgress) -> Callable[[int, int], None]:
    what = f"checkpoints with every strategy, storage {storage}"
    return lambda done, total: on_progress(native.Progress(done, total, "runs", what))


def _run_all(
    mesh: Path, run_folder: Path, workload: Workload, report_progress
) -> dict[str, list[dict]]:
    """Runs every strategy once in each round, in changing order."""
    runs: dict[str, list[dict]] = {strategy: [] for strategy in STRATEGIES}
    start = time.monotonic()
    for done in range(workload.rounds):
        if done and _would_exceed(workload.limit_s, time.monotonic() - start, done):
            break
        for number in range(len(STRATEGIES)):
            report_progress(done * len(STRATEGIES) + number, workload.rounds * len(STRATEGIES))
            strategy = STRATEGIES[(number + done) % len(STRATEGIES)]
            runs[strategy].append(_run_once(mesh, run_folder / strategy, strategy, workload))
    report_progress(workload.rounds * len(STRATEGIES), workload.rounds * len(STRATEGIES))
    return runs


def _would_exceed(limit_s: float | None, spent_s: float, rounds: int) -> bool:
    """Whether all rounds would exceed the limit with one more."""
    return limit_s is not None and spent_s * (rounds + 1) / rounds > limit_s


def _run_once(mesh: Path, checkpoints: Path, strategy: str, workload: Workload) -> dict:
    options = {
        "steps": workload.steps,
        "averages": workload.averages,
        "every": workload.every,
        "checkpoints": checkpoints,
    }
    options |= {"store": "folder"} if strategy == BASELINE else {"plan": strategy}
    args = ["run", str(mesh), *native.option_arguments(options)]
    try:
        document = native.run_program(PROGRAM, args, ranks=workload.ranks).document
        files = sum(1 for path in checkpoints.rglob("*") if path.is_file())
    finally:
        shutil.rmtree(checkpoints, ignore_errors=True)
    return {"fingerprint": document["fingerprint"], "files": files, **document["checkpoint_report"]}


def _require_same_bits(runs: dict) -> None:
    prints = {
        one["fingerprint"]
        for strategies in runs.values()
        for strategy in strategies.values()
        for one in strategy
    }
    if len(prints) > 1:
        raise ForebayError("runs on one mesh ended with different bits; please report this")


def _checkpoint_bytes(runs: dict) -> int:
    return next(
        (
            one["steps"][0]["bytes"]
            for strategies in runs.values()
            for strategy in strategies.values()
            for one in strategy
        ),
        0,
    )


def _summarize_strategies(runs: dict[str, list[dict]]) -> list[StrategyResult]:
    return [
        StrategyResult(
            name,
            **{metric: Statistics.of([one[metric] for one in rounds]) for metric in METRICS},
            files=rounds[-1]["files"],
        )
        for name, rounds in runs.items()
    ]
