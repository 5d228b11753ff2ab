# SPDX-License-Identifier: Apache-2.0
"""`forebay flow presets`: one run of the flow solver with each way of writing, on each storage.

The ways are the presets of a WritePlan, the plan that says nothing, and the folder of files that
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
from forebay.errors import ForebayError, SkippedError
from forebay.mounted import mounted
from forebay.strategies import PRESETS
from forebay.work_folder import work_folder

PROGRAM = "forebay-flow-mpi"
BASELINE = "folder"
DEFAULT = "auto"
WAYS = (BASELINE, DEFAULT, *PRESETS)
LOCAL, EMULATED = "local", "lustre-small"
STORAGES = {"local": (LOCAL,), "lustre-small": (EMULATED,), "both": (LOCAL, EMULATED)}
METRICS = ("perceived_mb_s", "durable_mb_s", "overhead")


@dataclass(frozen=True)
class Effort:
    """How much is computed and kept in a run, and how many runs of each way there are."""

    cells: int = 14
    parts: int = 16
    averages: int = 230  # so many numbers more at each node: what makes checkpoints large
    ranks: int = 4
    steps: int = 6
    every: int = 2
    rounds: int = 3
    limit_s: float | None = None  # on a storage: no second round begins that would pass it


@dataclass(frozen=True)
class Summary:
    """Of runs: the one in the middle, the least and the most."""

    value: float
    spread: tuple[float, float]
    runs: int

    @staticmethod
    def of(values: list[float]) -> "Summary":
        return Summary(median(values), (min(values), max(values)), len(values))


@dataclass(frozen=True)
class Way:
    """What one way of writing did on a storage."""

    name: str
    perceived_mb_s: Summary
    durable_mb_s: Summary
    overhead: Summary  # share of the time in which storage held the solver up
    files: int  # left behind by a run


@dataclass(frozen=True)
class Storage:
    """All ways on one storage, or why there is none."""

    name: str
    ways: list[Way] = field(default_factory=list)
    skipped: str = ""


@dataclass(frozen=True)
class Found:
    """All of it."""

    effort: Effort
    nodes: int
    checkpoint_bytes: int
    storages: list[Storage]

    @property
    def rounds(self) -> int:
        """The fewest of a storage."""
        runs = [way.overhead.runs for storage in self.storages for way in storage.ways]
        return min(runs, default=0)

    def to_document(self) -> dict:
        return asdict(self)


OnProgress = Callable[[native.Progress], None]


def measure(folder: Path, storages: tuple[str, ...], effort: Effort, on_progress) -> Found:
    """Makes a mesh in FOLDER and runs on all storages; nothing is left there."""
    require_ranks()
    runs: dict[str, dict[str, list[dict]]] = {}
    skipped: dict[str, str] = {}
    with work_folder(folder, "presets") as own:
        mesh = own / "mesh.fb"
        made = generate(mesh, effort)
        for storage in storages:
            try:
                with _place_on(storage, folder) as place:
                    runs[storage] = _run_all(mesh, place, effort, _telling(storage, on_progress))
            except SkippedError as why:
                skipped[storage] = str(why)
    _require_same_bits(runs)
    return Found(
        effort,
        nodes=made["mesh"]["nodes"],
        checkpoint_bytes=_checkpoint_bytes(runs),
        storages=[
            Storage(name, _ways_of(runs.get(name, {})), skipped.get(name, "")) for name in storages
        ],
    )


def require_ranks() -> None:
    if not native.is_there(PROGRAM):
        raise SkippedError(f"{PROGRAM} is not built, as there is no MPI; see docs/guides/mpi.md")


def generate(mesh: Path, effort: Effort) -> dict:
    options = {"cells": effort.cells, "parts": effort.parts}
    words = ["generate", str(mesh), *native.options_of(options)]
    return native.call(PROGRAM, words, ranks=effort.ranks).document


@contextlib.contextmanager
def _place_on(storage: str, folder: Path) -> Iterator[Path]:
    """An empty folder on a storage."""
    is_local = storage == LOCAL
    with work_folder(folder, "ways") if is_local else mounted(storage, folder) as place:
        yield place


def _telling(storage: str, on_progress: OnProgress) -> Callable[[int, int], None]:
    what = f"checkpoints by every preset, storage {storage}"
    return lambda done, total: on_progress(native.Progress(done, total, "runs", what))


def _run_all(mesh: Path, place: Path, effort: Effort, tell) -> dict[str, list[dict]]:
    """Every way once in each round, in changing order."""
    runs: dict[str, list[dict]] = {way: [] for way in WAYS}
    start = time.monotonic()
    for turn in range(effort.rounds):
        if turn and _would_pass(effort.limit_s, time.monotonic() - start, turn):
            break
        for number in range(len(WAYS)):
            tell(turn * len(WAYS) + number, effort.rounds * len(WAYS))
            way = WAYS[(number + turn) % len(WAYS)]
            runs[way].append(_run_once(mesh, place / way, way, effort))
    tell(effort.rounds * len(WAYS), effort.rounds * len(WAYS))
    return runs


def _would_pass(limit_s: float | None, spent_s: float, rounds: int) -> bool:
    """Whether one more round takes all of them over the limit."""
    return limit_s is not None and spent_s * (rounds + 1) / rounds > limit_s


def _run_once(mesh: Path, saved: Path, way: str, effort: Effort) -> dict:
    options = {
        "steps": effort.steps,
        "averages": effort.averages,
        "every": effort.every,
        "checkpoints": saved,
    }
    options |= {"store": "folder"} if way == BASELINE else {"plan": way}
    words = ["run", str(mesh), *native.options_of(options)]
    try:
        document = native.call(PROGRAM, words, ranks=effort.ranks).document
        files = sum(1 for path in saved.rglob("*") if path.is_file())
    finally:
        shutil.rmtree(saved, ignore_errors=True)
    return {"fingerprint": document["fingerprint"], "files": files, **document["kept"]}


def _require_same_bits(runs: dict) -> None:
    prints = {one["fingerprint"] for ways in runs.values() for way in ways.values() for one in way}
    if len(prints) > 1:
        raise ForebayError("runs on one mesh ended with different bits; please report this")


def _checkpoint_bytes(runs: dict) -> int:
    return next(
        (
            one["steps"][0]["bytes"]
            for ways in runs.values()
            for way in ways.values()
            for one in way
        ),
        0,
    )


def _ways_of(runs: dict[str, list[dict]]) -> list[Way]:
    return [
        Way(
            name,
            **{metric: Summary.of([one[metric] for one in rounds]) for metric in METRICS},
            files=rounds[-1]["files"],
        )
        for name, rounds in runs.items()
    ]
