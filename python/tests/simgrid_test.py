# SPDX-License-Identifier: Apache-2.0
"""Modeled steps with the method "flow", beside a model in SimGrid of the same
writers, links and servers. SimGrid is optional: `apt-get install python3-simgrid`."""

import json
import math
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest

from forebay import step_model
from forebay.sizes import parse_size

SCRIPT = Path(__file__).with_name("simgrid_steps.py")
MEDIAN_ERROR_MAX, ERROR_MAX = 0.02, 0.20
MEBIBYTE = 1 << 20
# Nodes with links of 100 MB/s; 16 servers.
MACHINE = """
format = 1
name = "made"
[client]
count = 1024
page_cache = false
link_bandwidth_mb_per_s = 100
[network]
[layout]
stripe_bytes = "1 MiB"
stripe_count = {stripes}
[[servers]]
count = 16
latency_us = 100
concurrency = 64
bandwidth_mb_per_s = {server}
"""
MACHINES = {
    "slow-servers": MACHINE.format(stripes=0, server=50),
    "fast-servers": MACHINE.format(stripes=0, server=2000),
    "one-server-files": MACHINE.format(stripes=1, server=300),
}


@dataclass(frozen=True)
class Case:
    machine: str
    ranks: int
    nodes: int
    writers: int
    files: int
    is_even: bool = True

    def bytes_of_ranks(self) -> list[int]:
        """8 MiB each, or exponential with that mean."""
        ranks = range(self.ranks)
        quantiles = [((rank * 37) % self.ranks + 0.5) / self.ranks for rank in ranks]
        return [int(8 * MEBIBYTE * (1 if self.is_even else -math.log(one))) for one in quantiles]


CASES = [
    Case("slow-servers", 64, 64, 64, 64),
    Case("slow-servers", 64, 64, 64, 64, is_even=False),
    Case("slow-servers", 256, 64, 64, 8, is_even=False),
    Case("fast-servers", 64, 64, 64, 64, is_even=False),
    Case("fast-servers", 256, 64, 64, 16),
    Case("fast-servers", 1024, 1024, 1024, 1024),
    Case("fast-servers", 1024, 256, 256, 64, is_even=False),
    Case("one-server-files", 16, 16, 16, 16),
    Case("one-server-files", 128, 128, 128, 128, is_even=False),
    Case("one-server-files", 1024, 1024, 1024, 1024),
    Case("lustre-small", 32, 4, 32, 32),
    Case("lustre-small", 64, 4, 64, 64, is_even=False),
    Case("gpfs-small", 64, 4, 64, 64),
    Case("gpfs-small", 64, 4, 16, 4, is_even=False),
    Case("pvfs-small", 64, 4, 16, 4),
    Case("pvfs-small", 64, 4, 16, 4, is_even=False),
    Case("bridges2", 512, 4, 512, 512),
]


@pytest.fixture(scope="module")
def simgrid():
    """The system's Python, which has the module of Debian's package."""
    python = shutil.which("python3", path="/usr/bin")
    found = python and subprocess.run([python, "-c", "import simgrid"], capture_output=True)
    if not found or found.returncode != 0:
        pytest.skip("SimGrid is not installed: run apt-get install python3-simgrid")
    return python


def simulate_flows(case: Case, machine: str) -> dict:
    plan = {"strategy": "reduced-blocking", "writers": case.writers, "files": case.files}
    request = {"machine": machine, "method": "flow", "nodes": case.nodes, "ranks": case.ranks}
    request |= {"steps": [case.bytes_of_ranks()], "plans": [plan | {"unit_bytes": MEBIBYTE}]}
    return step_model.simulate_steps(request)[0]


def writers_of(case: Case) -> list[dict]:
    """Writers of equal runs of ranks, in files of equal runs of writers."""
    sizes, ranks = case.bytes_of_ranks(), case.ranks // case.writers
    files = [number * case.files // case.writers for number in range(case.writers)]
    return [
        {
            "node": number * case.nodes // case.writers,
            "file": file,
            "is_owner": number == 0 or files[number - 1] != file,
            "bytes": sum(sizes[number * ranks : (number + 1) * ranks]),
        }
        for number, file in enumerate(files)
    ]


def simulate_in_simgrid(python: str, case: Case, machine: str, plan: dict) -> float:
    numbers = step_model.read_machine(machine)
    layout = numbers["layout"]
    layout["stripe_bytes"] = parse_size(layout["stripe_bytes"], "stripe_bytes")
    step = {"machine": numbers, "plan": plan, "nodes": case.nodes, "writers": writers_of(case)}
    arguments = {"input": json.dumps(step), "capture_output": True, "text": True, "timeout": 120}
    done = subprocess.run([python, SCRIPT], **arguments)
    assert done.returncode == 0, done.stderr
    return float(done.stdout)


@pytest.mark.long
def test_flows_take_as_long_as_in_simgrid(simgrid, real_tools, tmp_path):
    for name, text in MACHINES.items():
        (tmp_path / f"{name}.toml").write_text(text.replace("made", name), encoding="utf-8")
    errors = {}
    for case in CASES:
        made = case.machine in MACHINES
        machine = str(tmp_path / f"{case.machine}.toml") if made else case.machine
        flows = simulate_flows(case, machine)
        theirs = simulate_in_simgrid(simgrid, case, machine, flows["plan"])
        errors[case] = flows["steps"][0]["written_s"] / theirs - 1
        print(f"{case}: {theirs:.3f} s in SimGrid, {errors[case]:+.1%}")
    assert median(map(abs, errors.values())) <= MEDIAN_ERROR_MAX
    assert {case: error for case, error in errors.items() if abs(error) > ERROR_MAX} == {}
