# SPDX-License-Identifier: Apache-2.0
"""Kernels as input of other benchmarks, as far as these can express them: a script of IOR 3 or 4,
and a configuration of h5bench. Each export lists what is lost."""

import json
from dataclasses import dataclass
from statistics import fmean, pstdev

from forebay.errors import EXIT_USAGE, ForebayError
from forebay.kernel.kernel_file import Kernel, Operation

WORD_BYTES = 8
# h5bench_write has eight variables of 4 bytes for each particle.
PARTICLE_BYTES = 32
EQUAL = 0.01  # sizes whose deviation is a smaller part of their mean count as equal


@dataclass(frozen=True)
class Load:
    """An operation as the average of its ranks and steps."""

    operation: Operation
    call_bytes: int
    calls: int
    deviation: float  # of the bytes of ranks

    @property
    def rank_bytes(self) -> int:
        return self.call_bytes * self.calls


def export(kernel: Kernel, drawn: dict, target: str) -> tuple[str, list[str]]:
    """The text for "ior" or "h5bench", and what is lost. `drawn` is that of run.draw()."""
    loads = [
        load_of(one, draws)
        for one, draws in zip(kernel.operations, drawn["operations"], strict=True)
        if one.do == "write"
    ]
    compute_s = fmean(drawn["compute_s"])
    lost = lost_of(kernel, loads)
    if target == "ior":
        return ior_script(kernel, loads, compute_s), lost
    return h5bench_configuration(kernel, loads, compute_s, lost), lost


def load_of(operation: Operation, drawn: dict) -> Load:
    bytes_of = [one for step in drawn["bytes"] for one in step]
    calls_of = [one for step in drawn["calls"] for one in step]
    if not bytes_of or not sum(calls_of):
        raise ForebayError(f"operation {operation.name} has no calls to export", EXIT_USAGE)
    calls = max(1, round(fmean(calls_of)))
    call_bytes = max(WORD_BYTES, round(fmean(bytes_of) / calls / WORD_BYTES) * WORD_BYTES)
    return Load(operation, call_bytes, calls, pstdev(bytes_of))


def lost_of(kernel: Kernel, loads: list[Load]) -> list[str]:
    lost = []
    for load in loads:
        name = load.operation.name
        if load.deviation > EQUAL * load.rank_bytes:
            share = load.deviation / load.rank_bytes
            lost.append(f"{name}: sizes that differ by {share:.0%} between ranks and steps")
        if load.operation.offsets is not None:
            lost.append(f"{name}: the places of its calls; they become contiguous")
        if load.operation.ranks != "all":
            lost.append(f"{name}: all ranks take part, not only {load.operation.ranks}")
        if load.operation.when != "each" or load.operation.every != 1:
            lost.append(f"{name}: it runs in each step")
    reads = [one for one in kernel.operations if one.do == "read"]
    for one in reads:
        if one.size is not None or one.offsets is not None:
            lost.append(f"{one.name}: which bytes it reads; each rank reads what it wrote")
    if len(loads) > 1:
        lost.append("the order of operations within a step: each runs in all steps before the next")
    return lost


def is_read(kernel: Kernel, name: str) -> bool:
    return any(one.do == "read" and one.source == name for one in kernel.operations)


def ior_script(kernel: Kernel, loads: list[Load], compute_s: float) -> str:
    """A test for each write. MPI-IO in one file; `api` and `filePerProc` are for users to vary."""
    lines = [f"# {kernel.name}: {kernel.about}", "IOR START", "  api=MPIIO", "  filePerProc=0"]
    lines += ["  fsync=1", "  keepFile=0", "  multiFile=1", "  segmentCount=1"]
    lines += [f"  repetitions={kernel.steps}", f"  interTestDelay={round(compute_s)}"]
    for load in loads:
        name = load.operation.name
        lines += [f"  testFile={kernel.name}-{name}", "  writeFile=1"]
        lines += [f"  readFile={int(is_read(kernel, name))}"]
        lines += [f"  blockSize={load.rank_bytes}", f"  transferSize={load.call_bytes}", "RUN"]
    return "\n".join([*lines, "IOR STOP", ""])


def h5bench_configuration(
    kernel: Kernel, loads: list[Load], compute_s: float, lost: list[str]
) -> str:
    """h5bench_write, or its version with a normal distribution, for each write."""
    benchmarks = []
    for load in loads:
        is_normal = load.deviation > EQUAL * load.rank_bytes
        particles = max(1, round(load.rank_bytes / PARTICLE_BYTES))
        configuration = {"MEM_PATTERN": "CONTIG", "FILE_PATTERN": "CONTIG"}
        configuration |= {"TIMESTEPS": str(kernel.steps), "DELAYED_CLOSE_TIMESTEPS": "0"}
        configuration |= {"COLLECTIVE_DATA": "NO", "COLLECTIVE_METADATA": "NO"}
        configuration |= {"EMULATED_COMPUTE_TIME_PER_TIMESTEP": f"{round(compute_s)} s"}
        configuration |= {"NUM_DIMS": "1", "DIM_1": str(particles), "DIM_2": "1", "DIM_3": "1"}
        if is_normal:
            configuration["STDEV_DIM_1"] = str(max(1, round(load.deviation / PARTICLE_BYTES)))
        configuration |= {"CSV_FILE": f"{load.operation.name}.csv", "MODE": "SYNC"}
        benchmarks.append(
            {
                "benchmark": "write_normal_dist" if is_normal else "write",
                "file": f"{kernel.name}-{load.operation.name}.h5",
                "configuration": configuration,
            }
        )
    if any(is_read(kernel, load.operation.name) for load in loads):
        lost.append("reads: h5bench reads with a further benchmark, which needs the file")
    document = {"mpi": {"command": "mpirun", "ranks": str(kernel.writers), "configuration": ""}}
    document |= {"vol": {}, "file-system": {}, "directory": "storage", "benchmarks": benchmarks}
    return json.dumps(document, indent=2) + "\n"
