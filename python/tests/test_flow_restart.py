# SPDX-License-Identifier: Apache-2.0
"""Runs that are killed at any moment and go on elsewhere end with the bits of one that was not."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

STEPS = 30
KILLS = 5


@pytest.fixture
def flow(real_native):
    """flow(ranks, words) is a command line: threads below zero, else ranks of MPI."""
    folder = Path(os.environ.get("FOREBAY_LIBEXEC", Path(sys.prefix) / "libexec/forebay"))
    alone = folder / real_native("forebay-flow")
    together = folder / "forebay-flow-mpi"
    launcher = Path(sys.prefix) / "bin/mpiexec"

    def command(ranks: int, *words) -> list[str]:
        if ranks < 0:
            line = [alone, *words, "--ranks", -ranks]
        elif launcher.exists() and together.exists():
            line = [launcher, "-genv", "MPIR_CVAR_POLLS_BEFORE_YIELD", 10, "-n", ranks, together]
            line += words
        else:
            pytest.skip("no MPI: forebay-flow-mpi is not built, or there is no mpiexec")
        return [str(word) for word in line]

    return command


def answer(command: list[str]) -> dict:
    ran = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr.decode()
    return json.loads(ran.stdout)


def newest(saved: Path) -> int:
    """The last step that is whole."""
    return max((int(path.parent.name[5:]) for path in saved.glob("step-*/complete")), default=0)


def kill_in(command: list[str], saved: Path, steps: int) -> None:
    """Kills a run after it has kept so many steps, somewhere in the next one."""
    target = newest(saved) + steps
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as started:
        limit = time.monotonic() + 60
        while newest(saved) < target and started.poll() is None and time.monotonic() < limit:
            time.sleep(0.002)
        assert started.poll() is None, "the run ended by itself"
        os.killpg(started.pid, signal.SIGKILL)


@pytest.mark.parametrize("problem", ["diffusion", "advection"])
def test_killed_runs_end_with_the_same_bits(flow, tmp_path, problem):
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    mesh, saved = tmp_path / "mesh", tmp_path / "saved"
    answer(flow(-2, "generate", mesh, "--cells", 14, "--parts", 13))
    words = ["run", mesh, "--problem", problem, "--steps", STEPS]
    wanted = answer(flow(-1, *words))["fingerprint"]
    words += ["--checkpoints", saved, "--every", 1, "--resume"]
    for _ in range(KILLS):
        mapping = ["--mapping", f"random:{chance.randrange(100)}"]
        command = flow(-chance.choice([1, 2, 3, 5]), *words, *mapping)
        kill_in(command, saved, chance.randrange(1, 4))
    first = answer(flow(2, *words))
    assert 0 < first["first_step"] < STEPS, "the runs were not killed in between"
    for ended in (first, answer(flow(-3, *words))):
        assert ended["fingerprint"] == wanted
        assert ended["steps_done"] == STEPS


def test_ranks_of_mpi_and_threads_compute_the_same_bits(flow, tmp_path):
    mesh = tmp_path / "mesh"
    answer(flow(2, "generate", mesh, "--cells", 8, "--parts", 11))
    words = ["run", mesh, "--problem", "advection", "--steps", 3]
    prints = {answer(flow(ranks, *words))["fingerprint"] for ranks in (-1, -4, 1, 2, 3)}
    assert len(prints) == 1
