# SPDX-License-Identifier: Apache-2.0
"""The restart that the demo shows: a run of the flow solver with checkpoints, a run that is killed
in its middle, and the rest of that run on other ranks."""

import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from os import kill
from pathlib import Path

from forebay import native
from forebay.errors import ForebayError, NativeError
from forebay.presets import PROGRAM
from forebay.work_folder import work_folder

RANKS, RESTART_RANKS = 4, 3
STEPS, EVERY = 12, 3
KILL_AFTER_STEP = 3  # this step is on storage when the job is killed; later ones may be
PARTS, AVERAGES = 16, 150
TIMEOUT_S = 120
POLL_INTERVAL_S = 0.005
KILLS_MAX = 3  # a job may end before it is killed


@dataclass(frozen=True)
class RestartResults:
    """The documents of the runs."""

    mesh: dict
    uninterrupted: dict  # without checkpoints
    checkpointed: dict  # with checkpoints, also uninterrupted
    processes_killed: int
    resumed: dict  # the rest of the killed run
    verified: dict

    @property
    def has_same_fingerprints(self) -> bool:
        """Whether all completed runs ended with the same bits."""
        runs = (self.uninterrupted, self.checkpointed, self.resumed)
        return len({run["fingerprint"] for run in runs}) == 1

    def to_document(self) -> dict:
        return {
            "mesh": self.mesh,
            "undisturbed": self.uninterrupted,
            "with_checkpoints": self.checkpointed,
            "killed": {"ranks": RANKS, "processes": self.processes_killed},
            "resumed": self.resumed,
            "verified": self.verified,
            "same_fingerprint": self.has_same_fingerprints,
        }


def run_scenario(folder: Path, cells: int, on_progress: native.OnProgress) -> RestartResults:
    """Executes all runs, on a mesh with `cells` cells across. Their files are in a new directory in
    `folder`, which is removed at the end."""
    with work_folder(folder, "restart") as run_folder:
        return _run_scenario(run_folder, cells, on_progress)


def _run_scenario(run_folder: Path, cells: int, on_progress: native.OnProgress) -> RestartResults:
    mesh = str(run_folder / "mesh.fb")

    def run_program(action: str, options: dict, ranks: int = RANKS) -> dict:
        args = [action, mesh, *native.option_arguments(options)]
        return native.run_program(PROGRAM, args, on_progress, ranks=ranks).document

    made = run_program("generate", {"cells": cells, "parts": PARTS})
    options = {"steps": STEPS, "averages": AVERAGES}
    uninterrupted = run_program("run", options)
    checkpointed = run_program(
        "run", options | {"every": EVERY, "checkpoints": run_folder / "kept.fb"}
    )
    shutil.rmtree(run_folder / "kept.fb")
    checkpoints = run_folder / "killed.fb"
    options |= {"every": EVERY, "checkpoints": checkpoints, "resume": True}
    on_progress(native.Progress(0, 0, "", "a run that is killed"))
    args = ["run", mesh, *native.option_arguments(options)]
    killed = _kill_mid_run(
        [*native.launcher(RANKS), str(native.find_program(PROGRAM)), *args], checkpoints
    )
    resumed = run_program("run", options, RESTART_RANKS)
    verified = native.tools().verify_dataset(checkpoints, progress=on_progress)
    results = RestartResults(made, uninterrupted, checkpointed, killed, resumed, verified)
    _require_same_results(results)
    return results


def _kill_mid_run(command: list[str], checkpoints: Path) -> int:
    """Kills the job when some of its steps are published, but not all. Returns the number of killed
    processes."""
    for _ in range(KILLS_MAX):
        shutil.rmtree(checkpoints, ignore_errors=True)
        killed = kill_in_run(command, lambda: (newest_step(checkpoints) or 0) >= KILL_AFTER_STEP)
        if killed and (newest_step(checkpoints) or 0) < STEPS:
            return killed
    raise ForebayError(
        "the job ended each time before it was killed; retry when the machine is idle"
    )


def _require_same_results(results: RestartResults) -> None:
    """Raises an error if bits differ after the restart, or checkpoints are damaged."""
    if not results.has_same_fingerprints:
        raise ForebayError("a killed run ended with other bits after its restart; please report it")
    if findings := results.verified["findings"]:
        first = f"{len(findings)} findings, the first: {findings[0]['message']}"
        raise ForebayError(f"checkpoints of a killed run are damaged: {first}; please report it")


def newest_step(dataset: Path) -> int | None:
    """The newest published step; None if there is none, or no dataset."""
    try:
        listed = native.tools().list_dataset(dataset)
    except NativeError as error:
        if error.details.get("class") != "not-found":
            raise
        return None
    return max((one["step"] for one in listed["steps"]), default=None)


def kill_in_run(command: list[str], is_due: Callable[[], bool]) -> int:
    """Starts a job and kills all of its processes (SIGKILL) when `is_due()` returns true. Returns
    their number; 0 if the job had ended before.

    No process of the job is left, also after an exception.
    """
    silent = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=silent, stdout=silent, stderr=silent) as launcher:
        try:
            limit = time.monotonic() + TIMEOUT_S
            while not is_due():
                if launcher.poll() is not None or time.monotonic() > limit:
                    raise ForebayError("the job to kill ended too early, or is stuck; retry")
                time.sleep(POLL_INTERVAL_S)
            has_ended = launcher.poll() is not None
            if has_ended and launcher.returncode != 0:
                raise ForebayError("the job to kill failed before that; retry")
        finally:
            killed = _kill([launcher.pid, *descendants(launcher.pid)])
    return 0 if has_ended else killed


def descendants(process: int) -> list[int]:
    """The process ids of all descendants of a process."""
    found = []
    for listed in Path(f"/proc/{process}/task").glob("*/children"):
        try:
            children = [int(word) for word in listed.read_text(encoding="ascii").split()]
        except OSError:
            continue  # it has ended
        for child in children:
            found += [child, *descendants(child)]
    return found


def _kill(processes: list[int]) -> int:
    killed = 0
    for process in processes:
        try:
            kill(process, signal.SIGKILL)
            killed += 1
        except ProcessLookupError:
            pass
    return killed
