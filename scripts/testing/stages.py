# SPDX-License-Identifier: Apache-2.0
"""A stage of the test run: commands with a time limit, a log, and a JUnit file of results.

A stage can end in more ways than its tests: no file, no test, a time-out, a bad exit code. Each of
those becomes a failed case here, so that a broken runner never counts as a pass.
"""

import resource
import shutil
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field
from pathlib import Path

from testing.results import FAILED, Case, read_junit, read_shards

KILL_AFTER_S = 10
TIMED_OUT = (124, 137)  # exit codes of timeout(1) after SIGTERM and after SIGKILL


@dataclass(frozen=True)
class Stage:
    """Commands run one after another; the last of them writes `<folder>/<name>.xml`."""

    name: str
    title: str
    commands: list[list[str]]
    limit_s: int
    environment: dict[str, str] = field(default_factory=dict)
    shards: Path | None = None  # where GoogleTest programs write the results of their cases


@dataclass(frozen=True)
class Outcome:
    """Results and duration of a stage."""

    stage: Stage
    cases: list[Case]
    seconds: float
    cores: float = 0.0  # average number of cores that were busy with it; the others waited


def run(stage: Stage, folder: Path, environment: dict[str, str]) -> Outcome:
    """Runs a stage with its output in `<folder>/<name>.log`; a command takes at most `limit_s`."""
    junit = folder / f"{stage.name}.xml"
    junit.unlink(missing_ok=True)
    if stage.shards:
        shutil.rmtree(stage.shards, ignore_errors=True)
    start, cpu_start = time.monotonic(), _cpu_seconds()
    with open(folder / f"{stage.name}.log", "w", encoding="utf-8") as log:
        code, command = _run_commands(stage, log, environment | stage.environment)
    cases = _cases(stage, junit, code, command)
    seconds = time.monotonic() - start
    return Outcome(stage, cases, seconds, (_cpu_seconds() - cpu_start) / seconds)


def _cpu_seconds() -> float:
    """Processor time of all commands that have ended, and of their children."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _run_commands(stage: Stage, log, environment: dict[str, str]) -> tuple[int, list[str]]:
    code, command = 0, []
    for command in stage.commands:
        log.write(f"$ {' '.join(command)}\n")
        log.flush()
        limited = ["timeout", "-k", str(KILL_AFTER_S), str(stage.limit_s), *command]
        done = subprocess.run(
            limited, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, check=False
        )
        code = done.returncode
        if code != 0:
            break
    return code, command


def _cases(stage: Stage, junit: Path, code: int, command: list[str]) -> list[Case]:
    def failed(detail: str) -> Case:
        return Case(stage.name, "stage", FAILED, f"{detail}; see the log of this stage")

    cases = []
    if junit.exists():
        try:
            cases = read_junit(junit, stage.name)
            if stage.shards:
                cases = read_shards(cases, stage.shards)
        except ElementTree.ParseError as error:
            cases = [failed(f"unreadable results: {error}")]
    has_failures = any(case.outcome == FAILED for case in cases)
    if code in TIMED_OUT:
        cases.append(failed(f"ended after its limit of {stage.limit_s} s: {' '.join(command)}"))
    elif code != 0 and not has_failures:
        cases.append(failed(f"exit code {code}: {' '.join(command)}"))
    elif not cases:
        cases.append(failed("ran no test"))
    return cases
