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

from forebay import killed_run
from forebay.presets import BASELINE
from forebay.strategies import PRESETS

ENDLESS = 1_000_000  # no machine is so fast, and no test so slow to kill
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
    words = ["run", mesh, "--problem", problem]
    kept = ["--checkpoints", saved, "--every", 1, "--resume", "--store", "folder"]
    for _ in range(KILLS):
        mapping = ["--mapping", f"random:{chance.randrange(100)}"]
        ranks = -chance.choice([1, 2, 3, 5])
        command = flow(ranks, *words, *kept, *mapping, "--steps", ENDLESS)
        kill_in(command, saved, chance.randrange(1, 4))
    reached = newest(saved)
    words += ["--steps", reached + 3]
    wanted = answer(flow(-1, *words))["fingerprint"]
    first = answer(flow(2, *words, *kept))
    assert first["first_step"] == reached
    for ended in (first, answer(flow(-3, *words, *kept))):
        assert ended["fingerprint"] == wanted
        assert ended["steps_done"] == reached + 3


def test_ranks_of_mpi_and_threads_compute_the_same_bits(flow, tmp_path):
    mesh = tmp_path / "mesh"
    answer(flow(2, "generate", mesh, "--cells", 8, "--parts", 11))
    words = ["run", mesh, "--problem", "advection", "--steps", 3]
    prints = {answer(flow(ranks, *words))["fingerprint"] for ranks in (-1, -4, 1, 2, 3)}
    assert len(prints) == 1


def way_of(preset: str) -> list[str]:
    return ["--store", "folder"] if preset == BASELINE else ["--plan", preset]


@pytest.mark.parametrize("preset", [BASELINE, *PRESETS])
def test_what_some_ranks_keep_in_any_way_others_go_on_with(flow, tmp_path, preset):
    mesh, saved = tmp_path / "mesh", tmp_path / "saved"
    answer(flow(2, "generate", mesh, "--cells", 6, "--parts", 11, *way_of(preset)))
    words = ["run", mesh, "--problem", "advection", "--averages", 3]
    wanted = answer(flow(-1, *words, "--steps", 4))["fingerprint"]
    words += ["--checkpoints", saved, "--every", 1, *way_of(preset)]
    first = answer(flow(4, *words, "--steps", 2))
    assert [one["step"] for one in first["kept"]["steps"]] == [1, 2]
    assert preset in first["kept"]["store"]
    second = answer(flow(3, *words, "--steps", 3, "--resume", "--mapping", "random:7"))
    third = answer(flow(1, *words, "--steps", 4, "--resume"))
    assert (second["first_step"], third["first_step"]) == (2, 3)
    assert third["fingerprint"] == wanted


@pytest.mark.parametrize("preset", ["auto", "reduced-blocking", "brigade"])
def test_a_killed_job_goes_on_from_its_dataset_on_other_ranks(flow, real_native, tmp_path, preset):
    real_native("forebay-dataset")
    mesh, saved = tmp_path / "mesh", tmp_path / "saved"
    answer(flow(2, "generate", mesh, "--cells", 10, "--parts", 13))
    words = ["run", mesh, "--averages", 20]
    kept = ["--checkpoints", saved, "--every", 1, "--resume", "--plan", preset]
    reached = 0
    for ranks in (4, 2, 3):
        target = reached + 2
        killed_run.kill_in_run(
            flow(ranks, *words, *kept, "--steps", ENDLESS),
            lambda target=target: (killed_run.newest_step(saved) or 0) >= target,
        )
        reached = killed_run.newest_step(saved)
    last = answer(flow(5, *words, *kept, "--steps", reached + 3))
    assert last["first_step"] == reached
    assert last["fingerprint"] == answer(flow(-1, *words, "--steps", reached + 3))["fingerprint"]
    verify = [Path(flow(-1)[0]).parent / "forebay-dataset", "verify", saved]
    assert answer([str(word) for word in verify])["ok"]
