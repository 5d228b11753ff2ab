# SPDX-License-Identifier: Apache-2.0
"""Runtimes on communicators of mpi4py, on several ranks of MPICH."""

import subprocess
import sys

import pytest

from forebay.native import mpi_launcher

LIMIT_S = 120

CHECKPOINT = """
import sys
import numpy as np
from mpi4py import MPI
import forebay

comm = MPI.COMM_WORLD
rank, ranks = comm.rank, comm.size
with forebay.Runtime(comm) as runtime:
    assert (runtime.rank, runtime.rank_count, runtime.is_io_rank) == (rank, ranks, False)
    with runtime.create_dataset(sys.argv[1], plan={"strategy": sys.argv[2]}) as dataset:
        for number in (1, 2):
            with dataset.step(number) as step:
                step.put("u", np.full((4, 5), rank + 10 * number), part=rank)
                step.put("p", np.full((2, 3), rank, "f4"), start=(2 * rank, 0),
                         shape=(2 * ranks, 3))
    with runtime.open_dataset(sys.argv[1]) as dataset:
        step = dataset[2]
        other = (rank + 1) % ranks
        assert (step["u"].read(part=other).result() == other + 20).all()
        assert step["p"][:, 0].tolist() == [r for r in range(ranks) for _ in range(2)]
    with runtime.open_session(sys.argv[3]) as session:
        kept = session.view(rank * 1000, 1000).result()
    assert bytes(kept) == bytes([rank]) * 1000
print("done", flush=True)
"""
ERRORS = """
from mpi4py import MPI
import forebay

freed = MPI.COMM_WORLD.Dup()
freed.Free()
for comm, error in ((freed, forebay.InvalidArgumentError), (7, TypeError)):
    try:
        forebay.Runtime(comm)
    except error as raised:
        assert "MPI_COMM_NULL" in str(raised) or "communicator" in str(raised)
    else:
        raise AssertionError("no exception")
# What is invalid on one rank is an exception on all.
is_last = MPI.COMM_WORLD.rank == MPI.COMM_WORLD.size - 1
try:
    forebay.Runtime(MPI.COMM_WORLD, **({"budget_bytes": "x MiB"} if is_last else {}))
except forebay.InvalidArgumentError as raised:
    assert "x MiB" in str(raised)
else:
    raise AssertionError("no exception")
runtime = forebay.Runtime(MPI.COMM_WORLD)
try:
    runtime.create_dataset("/absent/run.fb", plan="/absent.toml" if is_last else "serial")
except FileNotFoundError as raised:
    assert "/absent" in str(raised)
else:
    raise AssertionError("no exception")
try:
    runtime.open_session("/absent")
except FileNotFoundError as raised:
    assert raised.rank == 0, raised.rank
print("done", flush=True)
"""


def run(ranks, code, *arguments):
    command = ["timeout", "-k", "10", str(LIMIT_S), *mpi_launcher(), "-n", str(ranks)]
    command += [sys.executable, "-X", "faulthandler", "-c", code, *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT_S + 20, check=False
    )
    assert done.stdout.count("done") == ranks, done.stdout + done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("ranks", "strategy"), [(1, "serial"), (2, "file-per-process"), (3, "reduced-blocking")]
)
def test_ranks_write_and_read_together(tmp_path, ranks, strategy):
    data = tmp_path / "data"
    data.write_bytes(b"".join(bytes([rank]) * 1000 for rank in range(ranks)))
    run(ranks, CHECKPOINT, tmp_path / "run.fb", strategy, data)


def test_unusable_communicators_raise_and_a_runtime_ends_at_exit():
    run(2, ERRORS)


def test_no_mpi_is_loaded_without_a_communicator():
    code = """
import sys, forebay
forebay.Runtime()
loaded = open("/proc/self/maps").read()
print("_forebay_mpi" in sys.modules, "libmpi" in loaded, "mpi4py" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "False False False\n", done.stderr
