# SPDX-License-Identifier: Apache-2.0
"""Runs that are killed at any moment and resumed on other ranks end with the same bits as one run
without interruption."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from forebay import restart_scenario
from forebay.presets import BASELINE
from forebay.strategies import PRESETS

ENDLESS = 1_000_000  # more steps than any machine computes before the kill
KILLS = 5


@pytest.fixture
def flow(real_native):
    """flow(ranks, args) is a command line: -ranks threads if negative, else MPI ranks."""
    folder = Path(os.environ.get("FOREBAY_LIBEXEC", Path(sys.prefix) / "libexec/forebay"))
    alone = folder / real_native("forebay-flow")
    together = folder / "forebay-flow-mpi"
    launcher = Path(sys.prefix) / "bin/mpiexec"

    def command(ranks: int, *args) -> list[str]:
        if ranks < 0:
            line = [alone, *args, "--ranks", -ranks]
        elif launcher.exists() and together.exists():
            line = [launcher, "-genv", "MPIR_CVAR_POLLS_BEFORE_YIELD", 10, "-n", ranks, together]
            line += args
        else:
            pytest.skip("no MPI: forebay-flow-mpi is not built, or mpiexec is missing")
        return [str(word) for word in line]

    return command


def document_of(command: list[str]) -> dict:
    completed = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert completed.returncode == 0, completed.stderr.decode()
    return json.loads(completed.stdout)


def newest(checkpoints: Path) -> int:
    """The last complete step."""
    return max(
        (int(path.parent.name[5:]) for path in checkpoints.glob("step-*/complete")), default=0
    )


def kill_after_steps(command: list[str], checkpoints: Path, steps: int) -> None:
    """Kills a run during the step that follows `steps` further checkpoints."""
    target = newest(checkpoints) + steps
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as started:
        limit = time.monotonic() + 60
        while newest(checkpoints) < target and started.poll() is None and time.monotonic() < limit:
            time.sleep(0.002)
        assert started.poll() is None, "the run ended before it was killed"
        os.killpg(started.pid, signal.SIGKILL)


@pytest.mark.parametrize("problem", ["diffusion", "advection"])
def test_killed_runs_end_with_the_same_bits(flow, tmp_path, problem):
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    mesh, checkpoints = tmp_path / "mesh", tmp_path / "saved"
    document_of(flow(-2, "generate", mesh, "--cells", 14, "--parts", 13))
    args = ["run", mesh, "--problem", problem]
    options = ["--checkpoints", checkpoints, "--every", 1, "--resume", "--store", "folder"]
    for _ in range(KILLS):
        mapping = ["--mapping", f"random:{chance.randrange(100)}"]
        ranks = -chance.choice([1, 2, 3, 5])
        command = flow(ranks, *args, *options, *mapping, "--steps", ENDLESS)
        kill_after_steps(command, checkpoints, chance.randrange(1, 4))
    reached = newest(checkpoints)
    args += ["--steps", reached + 3]
    expected = document_of(flow(-1, *args))["fingerprint"]
    first = document_of(flow(2, *args, *options))
    assert first["first_step"] == reached
    for ended in (first, document_of(flow(-3, *args, *options))):
        assert ended["fingerprint"] == expected
        assert ended["steps_done"] == reached + 3


def test_ranks_of_mpi_and_threads_compute_the_same_bits(flow, tmp_path):
    mesh = tmp_path / "mesh"
    document_of(flow(2, "generate", mesh, "--cells", 8, "--parts", 11))
    args = ["run", mesh, "--problem", "advection", "--steps", 3]
    prints = {document_of(flow(ranks, *args))["fingerprint"] for ranks in (-1, -4, 1, 2, 3)}
    assert len(prints) == 1


def strategy_options(preset: str) -> list[str]:
    return ["--store", "folder"] if preset == BASELINE else ["--plan", preset]


@pytest.mark.parametrize("preset", [BASELINE, *PRESETS])
def test_other_ranks_resume_checkpoints_of_every_strategy(flow, tmp_path, preset):
    mesh, checkpoints = tmp_path / "mesh", tmp_path / "saved"
    document_of(flow(2, "generate", mesh, "--cells", 6, "--parts", 11, *strategy_options(preset)))
    args = ["run", mesh, "--problem", "advection", "--averages", 3]
    expected = document_of(flow(-1, *args, "--steps", 4))["fingerprint"]
    args += ["--checkpoints", checkpoints, "--every", 1, *strategy_options(preset)]
    first = document_of(flow(4, *args, "--steps", 2))
    assert [one["step"] for one in first["checkpoint_report"]["steps"]] == [1, 2]
    assert preset in first["checkpoint_report"]["store"]
    second = document_of(flow(3, *args, "--steps", 3, "--resume", "--mapping", "random:7"))
    third = document_of(flow(1, *args, "--steps", 4, "--resume"))
    assert (second["first_step"], third["first_step"]) == (2, 3)
    assert third["fingerprint"] == expected


@pytest.mark.parametrize("preset", ["auto", "reduced-blocking", "brigade"])
def test_killed_job_resumes_from_its_dataset_on_other_ranks(flow, real_tools, tmp_path, preset):
    mesh, checkpoints = tmp_path / "mesh", tmp_path / "saved"
    document_of(flow(2, "generate", mesh, "--cells", 10, "--parts", 13))
    args = ["run", mesh, "--averages", 20]
    options = ["--checkpoints", checkpoints, "--every", 1, "--resume", "--plan", preset]
    reached = 0
    for ranks in (4, 2, 3):
        target = reached + 2
        restart_scenario.kill_in_run(
            flow(ranks, *args, *options, "--steps", ENDLESS),
            lambda target=target: (restart_scenario.newest_step(checkpoints) or 0) >= target,
        )
        reached = restart_scenario.newest_step(checkpoints)
    last = document_of(flow(5, *args, *options, "--steps", reached + 3))
    assert last["first_step"] == reached
    assert (
        last["fingerprint"] == document_of(flow(-1, *args, "--steps", reached + 3))["fingerprint"]
    )
    assert real_tools.verify_dataset(checkpoints)["ok"]
