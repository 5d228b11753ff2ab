# SPDX-License-Identifier: Apache-2.0
"""Benchmarks with rows that run kernels and other programs. Rows about single calls are in C++ and
come first."""

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from forebay import native
from forebay.errors import EXIT_USAGE, TERMINATIONS, ForebayError
from forebay.kernel_bench.rows import Results, Setup, merge

BENCHMARKS = ("checkpoint", "cube", "kernel", "pfs", "run", "servers", "site")
WITHOUT_KERNELS = ("cube", "run")
PROGRAM = "forebay-bench"
SITE = {
    "name": "site",
    "description": "an acceptance kit: Forebay beside all that is installed, 20 minutes",
}
SERVERS = {
    "name": "servers",
    "description": "many tasks on a mount of emufs, and the activity of its servers",
}
WITH_OWN_RANKS = ("checkpoint", "kernel", "pfs")
ON_THIS_MACHINE = ("cube", "kernel", "pfs", "run", "servers")
DIRECTORY_PREFIX = ".forebay-bench-"

Native = Callable[[str], tuple[dict, BaseException | None]]


def run(name: str, options: dict, native_rows: Native) -> tuple[dict, BaseException | None]:
    """Runs a benchmark. After a failure with some results, returns these and the failure.

    `native_rows(ids)` runs the rows in C++; `ids` is empty for all.
    """
    own, native_ids = _ids(name)
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


def _ids(name: str) -> tuple[list[str], list[str]]:
    """Of the rows in Python, and of those in C++."""
    from forebay.kernel_bench import (
        checkpoint_cases,
        kernels,
        overlap,
        pfs,
        remap_stages,
        servers,
        site,
        unchanged_programs,
    )

    if name == "site":
        return [*site.IDS], []
    if name == "run":
        return [*unchanged_programs.IDS], []
    if name == "cube":
        return [*remap_stages.IDS], ["cube.spec.evaluated"]
    if name == "kernel":
        return [*kernels.IDS], ["kernel.draw_us"]
    if name == "pfs":
        return [*pfs.IDS], [*pfs.NATIVE_IDS]
    if name == "servers":
        return [*servers.IDS], []
    cases = checkpoint_cases.all_cases(1 << 20)
    own = [one.id for one in cases]
    own += [one.id for one in checkpoint_cases.COMPARISONS]
    own += [*overlap.LOADS, overlap.DEDICATED, "ckpt.memory_over_plan", "ckpt.brigade_memory"]
    return own, ["ckpt.perceived.adopt_us", "ckpt.perceived.over_memcpy", "ckpt.open_us"]


def _parts(name: str) -> tuple:
    from forebay.kernel_bench.checkpoint import CheckpointBench
    from forebay.kernel_bench.kernels import KernelBench
    from forebay.kernel_bench.overlap import OverlapBench
    from forebay.kernel_bench.pfs import PfsBench
    from forebay.kernel_bench.remap_stages import RemapBench
    from forebay.kernel_bench.servers import ServersBench
    from forebay.kernel_bench.site import SiteBench
    from forebay.kernel_bench.unchanged_programs import ProgramsBench

    return {
        "checkpoint": (CheckpointBench, OverlapBench),
        "cube": (RemapBench,),
        "kernel": (KernelBench,),
        "pfs": (PfsBench,),
        "run": (ProgramsBench,),
        "servers": (ServersBench,),
        "site": (SiteBench,),
    }[name]


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
            if name in WITHOUT_KERNELS:  # kernels report their machine
                arguments = ["--machine", "--dir", folder]
                results.machine = native.run_program(PROGRAM, arguments).document
            ranks, launcher = options["ranks"], options["launcher"]
            setup = Setup(Path(folder).absolute(), effort, on_progress, launcher, ranks)
            for bench in _parts(name):
                bench(results, setup).run()
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
