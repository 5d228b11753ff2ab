# SPDX-License-Identifier: Apache-2.0
"""Benchmarks with rows that run kernels and other programs. Rows about single calls are in C++ and
come first."""

import contextlib
import fcntl
import importlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from forebay import native
from forebay.benchmarks.rows import Results, Setup, merge
from forebay.errors import EXIT_USAGE, TERMINATIONS, ForebayError

PROGRAM = "forebay-bench"
DIRECTORY_PREFIX = ".forebay-bench-"


@dataclass(frozen=True)
class Benchmark:
    """A benchmark with rows in Python. Each module has the ids of its rows, IDS, those of rows in
    C++, NATIVE_IDS, if there are any, and a class Bench(results, setup) with run()."""

    modules: tuple[str, ...]
    has_own_ranks: bool = False  # --ranks has no effect
    is_local: bool = False  # on this machine, without --launcher
    runs_kernels: bool = True  # which report the machine
    description: str = ""  # if no program in C++ lists it

    def ids(self, kind: str) -> list[str]:
        return [name for one in self.load() for name in getattr(one, kind, ())]

    def load(self) -> list:
        return [importlib.import_module(f"{__name__}.{one}") for one in self.modules]


BENCHMARKS = {
    "checkpoint": Benchmark(("checkpoint", "overlap"), has_own_ranks=True),
    "cube": Benchmark(("remap_stages",), is_local=True, runs_kernels=False),
    "door": Benchmark(("door", "door_inplace"), is_local=True, runs_kernels=False),
    "kernel": Benchmark(("kernels",), has_own_ranks=True, is_local=True),
    "pfs": Benchmark(("pfs",), has_own_ranks=True, is_local=True),
    "run": Benchmark(("unchanged_programs",), is_local=True, runs_kernels=False),
    "servers": Benchmark(
        ("servers",),
        is_local=True,
        description="many tasks on a mount of emufs, and the activity of its servers",
    ),
    "sim": Benchmark(
        ("simulation", "emulated_plans"),
        has_own_ranks=True,
        is_local=True,
        runs_kernels=False,
        description="models beside published tables and real runs; their cost for 300,000 ranks",
    ),
    "tune": Benchmark(
        ("tuning", "emulated_tuning"),
        has_own_ranks=True,
        is_local=True,
        runs_kernels=False,
    ),
    "site": Benchmark(
        ("site",),
        description="an acceptance kit: Forebay beside all that is installed, 20 minutes",
    ),
}

Native = Callable[[str], tuple[dict, BaseException | None]]


def run(name: str, options: dict, native_rows: Native) -> tuple[dict, BaseException | None]:
    """Runs a benchmark. After a failure with some results, returns these and the failure.

    `native_rows(ids)` runs the rows in C++; `ids` is empty for all.
    """
    own, native_ids = BENCHMARKS[name].ids("IDS"), BENCHMARKS[name].ids("NATIVE_IDS")
    only = {one for one in (options["only"] or "").split(",") if one}
    if unknown := sorted(only - set(own) - set(native_ids)):
        valid = " ".join(sorted((*own, *native_ids)))
        raise ForebayError(f"unknown id: {unknown[0]}; valid ids: {valid}", EXIT_USAGE)
    document = {"benchmark": name, "parameters": {}, "machine": {}, "results": [], "skipped": {}}
    error = None
    if only & set(native_ids) or (native_ids and not only):
        document, error = native_rows(",".join(sorted(only & set(native_ids))))
    results = Results(only)
    if error is None and (not only or only & set(own)):
        error = _run_own(name, options, results)
    return merge(document, results), error


def _run_own(name: str, options: dict, results: Results) -> BaseException | None:
    from forebay.report.terminal import progress

    effort = "quick" if options["quick"] else "full" if options["full"] else "usual"
    results.parameters |= {"quick": options["quick"], "full": options["full"]}
    if results.only:
        results.parameters["only"] = sorted(results.only)
    try:
        with (
            tempfile.TemporaryDirectory(prefix=DIRECTORY_PREFIX, dir=options["folder"]) as folder,
            _locked(folder),
            progress() as on_progress,
        ):
            if not BENCHMARKS[name].runs_kernels:
                arguments = ["--machine", "--dir", folder]
                results.machine = native.run_program(PROGRAM, arguments).document
            ranks, launcher = options["ranks"], options["launcher"]
            setup = Setup(Path(folder).absolute(), effort, on_progress, launcher, ranks)
            for module in BENCHMARKS[name].load():
                module.Bench(results, setup).run()
    except (ForebayError, *TERMINATIONS) as error:
        return error
    return None


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Other benchmarks remove directories without a lock: those of killed runs."""
    directory = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX)
        yield
    finally:
        os.close(directory)
