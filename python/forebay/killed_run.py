# SPDX-License-Identifier: Apache-2.0
"""A run of the flow solver that keeps checkpoints, one that is killed in its middle, and the rest
of it on other ranks: what the demonstration shows of restarts."""

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

DATASETS = "forebay-dataset"
EXIT_PROBLEMS = 3  # of that program: damage; the answer is complete
RANKS, RANKS_LATER = 4, 3
STEPS, EVERY = 12, 3
KILLED_AFTER = 3  # this step is on storage when the job is killed; later ones may be
PARTS, AVERAGES = 16, 150
PATIENCE_S = 120
LOOK_EVERY_S = 0.005
KILLS_MAX = 3  # a job may be done before it is looked at


@dataclass(frozen=True)
class Story:
    """What each of the runs said."""

    mesh: dict
    alone: dict  # without checkpoints, undisturbed
    kept: dict  # with checkpoints, undisturbed
    processes_killed: int
    resumed: dict  # the rest of the killed run
    verified: dict

    @property
    def is_same(self) -> bool:
        """Whether all runs that ended did so with the same bits."""
        runs = (self.alone, self.kept, self.resumed)
        return len({run["fingerprint"] for run in runs}) == 1

    def to_document(self) -> dict:
        return {
            "mesh": self.mesh,
            "undisturbed": self.alone,
            "with_checkpoints": self.kept,
            "killed": {"ranks": RANKS, "processes": self.processes_killed},
            "resumed": self.resumed,
            "verified": self.verified,
            "same_fingerprint": self.is_same,
        }


def play(folder: Path, cells: int, on_progress: native.OnProgress) -> Story:
    """Plays all of it in a new folder of FOLDER, which is gone at the end, on a mesh with so many
    cells across."""
    with work_folder(folder, "killed-run") as place:
        return _play(place, cells, on_progress)


def _play(place: Path, cells: int, on_progress: native.OnProgress) -> Story:
    mesh = str(place / "mesh.fb")

    def call(action: str, options: dict, ranks: int = RANKS) -> dict:
        words = [action, mesh, *native.options_of(options)]
        return native.call(PROGRAM, words, on_progress, ranks=ranks).document

    made = call("generate", {"cells": cells, "parts": PARTS})
    options = {"steps": STEPS, "averages": AVERAGES}
    alone = call("run", options)
    kept = call("run", options | {"every": EVERY, "checkpoints": place / "kept.fb"})
    shutil.rmtree(place / "kept.fb")
    saved = place / "killed.fb"
    options |= {"every": EVERY, "checkpoints": saved, "resume": True}
    on_progress(native.Progress(0, 0, "", "computing, and killed"))
    words = ["run", mesh, *native.options_of(options)]
    killed = _kill_between([*native.launcher(RANKS), str(native.find(PROGRAM)), *words], saved)
    resumed = call("run", options, RANKS_LATER)
    verified = native.call(
        DATASETS, ["verify", str(saved)], on_progress, (0, EXIT_PROBLEMS)
    ).document
    story = Story(made, alone, kept, killed, resumed, verified)
    _check(story)
    return story


def _kill_between(command: list[str], saved: Path) -> int:
    """Kills the job when it has kept some steps, and not all; the number of its processes."""
    for _ in range(KILLS_MAX):
        shutil.rmtree(saved, ignore_errors=True)
        killed = kill_in_run(command, lambda: (newest_step(saved) or 0) >= KILLED_AFTER)
        if killed and (newest_step(saved) or 0) < STEPS:
            return killed
    raise ForebayError("the job ended each time before it was killed; is this machine very busy?")


def _check(story: Story) -> None:
    """What a demonstration of restarts must not show."""
    if not story.is_same:
        raise ForebayError("a killed run ended with other bits after its restart; please report it")
    if findings := story.verified["findings"]:
        found = f"verify finds {len(findings)} damages, the first: {findings[0]['message']}"
        raise ForebayError(f"of the checkpoints of a killed run {found}; please report it")


def newest_step(dataset: Path) -> int | None:
    """The newest step that is published; none while there is none, or no dataset."""
    try:
        listed = native.call(DATASETS, ["ls", str(dataset)], answers=(0, EXIT_PROBLEMS))
    except NativeError as error:
        if error.details.get("class") != "not-found":
            raise
        return None
    return max((one["step"] for one in listed.document["steps"]), default=None)


def kill_in_run(command: list[str], is_enough: Callable[[], bool]) -> int:
    """Starts a job and kills all of its processes (SIGKILL) when it has done enough; how many;
    0 if it was done before that.

    Whatever is raised meanwhile, nothing of the job is left.
    """
    silent = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=silent, stdout=silent, stderr=silent) as launcher:
        try:
            limit = time.monotonic() + PATIENCE_S
            while not is_enough():
                if launcher.poll() is not None or time.monotonic() > limit:
                    raise ForebayError("the job that was to be killed ended by itself, or is stuck")
                time.sleep(LOOK_EVERY_S)
            has_ended = launcher.poll() is not None
            if has_ended and launcher.returncode != 0:
                raise ForebayError("the job that was to be killed failed by itself")
        finally:
            killed = _kill([launcher.pid, *descendants(launcher.pid)])
    return 0 if has_ended else killed


def descendants(process: int) -> list[int]:
    """The children of a process, theirs, and so on."""
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
