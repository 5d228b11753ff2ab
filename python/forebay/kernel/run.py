# SPDX-License-Identifier: Apache-2.0
"""Runs a kernel with several backends on the ranks of an MPI job."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from forebay import native
from forebay.errors import EXIT_USAGE, ForebayError
from forebay.kernel.kernel_file import Kernel

PROGRAM = "forebay-kernel"
RUNNER = "forebay-kernel-mpi"
OPENMPI_RUNNER = "forebay-kernel-mpi-openmpi"
RUNNERS = (RUNNER, OPENMPI_RUNNER)
# Backends that a program has if their library was found when it was built.
LIBRARY_BACKENDS = ("hdf5", "pmpio", "pnetcdf", "adios1", "adios2")
BACKENDS = ("forebay", "session", "none", "posix", "mpiio", *LIBRARY_BACKENDS)
DIRECTORY_PREFIX = "forebay-kernel-"


@dataclass(frozen=True)
class RunSettings:
    """How a kernel is run."""

    backends: tuple[str, ...]
    storage: Path
    ranks: int
    rounds: int = 5
    warm_ups: int = 1
    launcher: str | None = None  # "srun -n {n}"
    cold: bool = False
    keep_input: bool = False  # one input for all runs; backends must store it alike
    emufs_root: str | None = None  # of a mount: "requests" of a run has those of each read
    verify_all: bool = False
    compute_scale: float = 1.0
    compute: str = "cpu"
    dedicated: bool = False  # one rank more, on this machine, does the I/O of Forebay

    @property
    def runner(self) -> str:
        """The program that has all backends, as these share rounds. The one of the MPI beside this
        Python is preferred. If no program has them all, the one of Open MPI if it is built."""
        built = list(filter(native.is_built, RUNNERS))
        needed = {name.partition(":")[0] for name in self.backends} & set(LIBRARY_BACKENDS)
        for one in built:
            if not needed or needed <= set(backends_of(one, self.launcher)):
                return one
        return [*reversed(built), RUNNER][0]


def backends_of(program: str, launcher: str | None = None) -> dict[str, dict]:
    """The backends of a program by name; none if it is not built. `launcher` starts it.

    Returns {name: {"name","options","library","reads"}}.
    """
    if not native.is_built(program):
        return {}
    listed = _listed(program, native.find_program(program), launcher)
    return {one["name"]: one for one in listed}


@cache
def _listed(program: str, _path: Path, launcher: str | None) -> list[dict]:
    return native.run_program(program, ["list"], ranks=_ranks(program, 1, launcher)).document


def _ranks(program: str, ranks: int, launcher: str | None) -> native.Ranks:
    if launcher is not None:
        return native.Launcher(launcher, ranks)
    return native.OpenMpi(ranks) if program == OPENMPI_RUNNER else ranks


def check_backends(settings: RunSettings) -> None:
    """Fails for an unknown backend, or one that is not built."""
    for name in settings.backends:
        if name.partition(":")[0] not in BACKENDS:
            raise ForebayError(f"no backend {name}; known are {', '.join(BACKENDS)}", EXIT_USAGE)
    missing = [
        name
        for name in settings.backends
        if name.partition(":")[0] in LIBRARY_BACKENDS
        and name.partition(":")[0] not in backends_of(settings.runner, settings.launcher)
    ]
    if missing:
        message = f"{', '.join(missing)}: no program with all these backends is built"
        raise ForebayError(f"{message}; run make kernel-peers, or run them one by one")


def check_space(kernel: Kernel, settings: RunSettings, bytes_written: int) -> None:
    """Fails if the files of a run would not fit."""
    free = shutil.disk_usage(settings.storage).free
    if bytes_written > free:
        message = f"kernel {kernel.name} writes {bytes_written} bytes, and {settings.storage} has"
        raise ForebayError(f"{message} {free} free; take fewer --ranks, or another --storage")


@contextmanager
def plan_file(kernel: Kernel, ranks: int, folder: Path | None = None) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix=DIRECTORY_PREFIX, dir=folder) as folder:
        path = Path(folder) / "kernel.json"
        path.write_text(json.dumps(kernel.plan(ranks)), encoding="utf-8")
        yield path


def draw(kernel: Kernel, ranks: int, sizes_max: int = 100_000) -> dict:
    """Bytes and calls of each operation, step and rank, and sizes of calls."""
    with plan_file(kernel, ranks) as path:
        arguments = ["draw", str(path), "--sizes-max", str(sizes_max)]
        return native.run_program(PROGRAM, arguments).document


def step_bytes(kernel: Kernel, ranks: int) -> list[list[int]]:
    """The bytes that each rank writes in each step."""
    writes = {one.name: one for one in kernel.step_writes()}
    steps = [[0] * ranks for _ in range(kernel.steps)]
    for drawn in draw(kernel, ranks, 0)["operations"]:
        if (operation := writes.get(drawn["name"])) is not None:
            for step, added in zip(operation.due_steps(kernel.steps), drawn["bytes"], strict=True):
                steps[step] = [old + new for old, new in zip(steps[step], added, strict=True)]
    return steps


def written_bytes(drawn: dict, kernel: Kernel) -> int:
    """All bytes that a run leaves on storage."""
    writes = {one.name for one in kernel.operations if one.do == "write"}
    steps = [step for one in drawn["operations"] if one["name"] in writes for step in one["bytes"]]
    return sum(map(sum, steps))


def run(kernel: Kernel, settings: RunSettings, on_progress=None) -> dict:
    """The document of all runs; complete runs are kept after a failure or an interruption, and the
    files of the runs are removed.

    Returns {"kernel","ranks","backends","libraries","mpi","machine","runs":[...],
    "failures":{backend: error},"error"}; docs/guides/kernels.md has the keys of a run.
    """
    check_backends(settings)
    check_space(kernel, settings, written_bytes(draw(kernel, settings.ranks, 0), kernel))
    with (
        plan_file(kernel, settings.ranks, settings.storage) as plan,  # for ranks of other hosts
        tempfile.TemporaryDirectory(prefix=DIRECTORY_PREFIX, dir=settings.storage) as files,
    ):
        results = plan.parent / "results.jsonl"
        results.touch()
        error = None
        facts = {"mpi": "", "machine": {}}
        try:
            arguments = _arguments(settings, plan, files, results)
            count = settings.ranks + int(settings.dedicated)
            ranks = _ranks(settings.runner, count, settings.launcher)
            done = native.run_program(settings.runner, arguments, on_progress, ranks=ranks)
            facts = {key: done.document[key] for key in facts}
        except ForebayError as failed:
            error = failed
        lines = results.read_text(encoding="utf-8", errors="replace").splitlines()
    runs = [json.loads(line) for line in lines if line.endswith("}")]
    if error is not None and not runs:
        raise error
    cause = str(error) if error else None
    document = as_document(kernel, settings, runs, cause) | facts
    return document | {"error": cause}


def _libraries(settings: RunSettings) -> dict[str, str]:
    """The library of each family of backends, with its version; without those that have none."""
    families = {name.partition(":")[0] for name in settings.backends} & set(LIBRARY_BACKENDS)
    if not families:
        return {}
    known = backends_of(settings.runner, settings.launcher)
    return {name: known[name].get("library", "") for name in sorted(families)}


def _arguments(settings: RunSettings, plan: Path, files: str, results: Path) -> list[str]:
    arguments = ["run", str(plan), "--dir", files, "--results", str(results)]
    for name in settings.backends:
        arguments += ["--on", name]
    arguments += ["--rounds", str(settings.warm_ups + settings.rounds)]
    arguments += ["--compute-scale", str(settings.compute_scale)]
    arguments += ["--compute", settings.compute]
    arguments += ["--keep-input"] * settings.keep_input
    if settings.emufs_root is not None:
        arguments += ["--count-requests", settings.emufs_root]
    arguments += ["--cold"] * settings.cold + ["--dedicated"] * settings.dedicated
    return arguments + ["--verify-all"] * settings.verify_all


def as_document(kernel: Kernel, settings: RunSettings, runs: list[dict], cause: str | None) -> dict:
    """A backend with a failed run has no other runs, as its rounds would not be paired. If the job
    has ended early, this includes the backend that was running."""
    per_round = len(settings.backends)
    failures = {one["backend"]: one["error"] for one in runs if "error" in one}
    round_number, place = divmod(len(runs), per_round)
    if cause and round_number < settings.warm_ups + settings.rounds:
        running = settings.backends[(place + round_number) % per_round]  # the order rotates
        failures.setdefault(running, f"the job ended during its run: {cause}")
    kept = [
        one | {"round": number // per_round - settings.warm_ups}
        for number, one in enumerate(runs)
        if number // per_round >= settings.warm_ups and one["backend"] not in failures
    ]
    return {
        "kernel": kernel.name,
        "ranks": settings.ranks,
        "backends": list(settings.backends),
        "libraries": _libraries(settings),
        "runs": kept,
        "failures": failures,
    }
