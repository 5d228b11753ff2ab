# SPDX-License-Identifier: Apache-2.0
"""save() and load() of torch.distributed.checkpoint itself, on one rank and on two."""

import os
import socket
import subprocess
import sys

import pytest

LIMIT_S = 300

ONE_RANK = """
import sys
import torch
import torch.distributed.checkpoint as dcp
from forebay.torch_checkpoint import ForebayStorageReader, ForebayStorageWriter

def fresh(seed):
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.Linear(32, 3).bfloat16())
    optimizer = torch.optim.Adam(model.parameters())
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    flags = torch.tensor([seed == 1, False])
    return model, optimizer, {"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                              "epoch": seed, "flags": flags, "transposed": torch.rand(5, 4).T}

path = sys.argv[1]
saved = fresh(1)[2]
dcp.save(saved, storage_writer=ForebayStorageWriter(path))
dcp.save(fresh(7)[2], storage_writer=ForebayStorageWriter(path, step=5, plan={"codec": "zstd"}))
loaded = fresh(2)[2]
dcp.load(loaded, storage_reader=ForebayStorageReader(path, step=0))
future = dcp.async_save(fresh(8)[2], storage_writer=ForebayStorageWriter(path))
future.result()
newest = fresh(2)[2]
dcp.load(newest, storage_reader=ForebayStorageReader(path))

def flat(value, name=""):
    if isinstance(value, dict):
        for key, one in value.items():
            yield from flat(one, f"{name}/{key}")
    else:
        yield name, value

for expected, found in ((saved, loaded), (fresh(8)[2], newest)):
    pairs = list(zip(flat(expected), flat(found), strict=True))
    assert len(pairs) >= 20, len(pairs)
    for (name, one), (_, other) in pairs:
        equal = torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other
        assert equal, (name, one, other)
print("equal")
"""

TWO_RANKS = """
import sys
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from forebay import torch_checkpoint
from forebay.torch_checkpoint import ForebayStorageReader, ForebayStorageWriter

path = sys.argv[1]
dist.init_process_group("gloo")
mesh = init_device_mesh("cpu", (2,))
whole = torch.arange(60.0).reshape(10, 6)
state = {"rows": distribute_tensor(whole, mesh, [Shard(0)]), "copies": whole + 1}
dcp.save(state, storage_writer=ForebayStorageWriter(path))

read, begin = [], torch_checkpoint._Load._begin_read
def record(self, key):
    read.append(key[0])
    return begin(self, key)
torch_checkpoint._Load._begin_read = record
state = {"rows": distribute_tensor(torch.zeros(10, 6), mesh, [Shard(1)]),
         "copies": torch.zeros(10, 6)}
dcp.load(state, storage_reader=ForebayStorageReader(path, timeout_s=120))
assert torch.equal(state["copies"], whole + 1)
assert torch.equal(state["rows"].full_tensor(), whole)
counts = [None, None]
dist.all_gather_object(counts, read.count("copies"))
assert sum(counts) == 1, counts
print("equal", flush=True)
dist.destroy_process_group()
"""


def start(code, path, **environment):
    command = [sys.executable, "-c", code, str(path)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=os.environ | environment
    )


def outputs_of(processes):
    try:
        return [process.communicate(timeout=LIMIT_S)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()


@pytest.mark.usefixtures("torch_itself")
def test_state_of_one_rank_is_restored(tmp_path):
    assert outputs_of([start(ONE_RANK, tmp_path)]) == ["equal\n"]


@pytest.mark.usefixtures("torch_itself")
def test_shards_of_two_ranks_are_loaded_in_another_layout(tmp_path):
    with socket.create_server(("localhost", 0)) as server:
        port = str(server.getsockname()[1])
    common = {"MASTER_ADDR": "localhost", "MASTER_PORT": port, "WORLD_SIZE": "2"}
    processes = [start(TWO_RANKS, tmp_path, RANK=str(rank), **common) for rank in range(2)]
    assert outputs_of(processes) == ["equal\n", "equal\n"]
