# SPDX-License-Identifier: Apache-2.0
"""Sketches of Forebay traces (docs/formats/trace.md), whose records a native tool exports."""

import json
import struct
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy

from forebay import native
from forebay.errors import ForebayError
from forebay.kernel.fit.sketch import RANKS_MAX, Calls, LogSketch
from forebay.native import OnProgress, Progress
from forebay.trace_import.records import FIELDS, OFFSET_UNKNOWN, OPERATIONS, TIME_UNKNOWN

MAGIC = b"FbyTrace"
HEAD_BYTES = 32
BLOCK = struct.Struct("<4sIIIIIQQ")
FAILED = 16  # flag of a call
BATCH_RECORDS = 1 << 18
NS_S = 1e-9
INTERFACES = {"mpiio": "MPI-IO", "posix": None}


def is_trace(path: Path) -> bool:
    with open(path, "rb") as opened:
        return opened.read(len(MAGIC)) == MAGIC


def read(path: Path, layer: str | None, on_progress: OnProgress) -> LogSketch:
    """Without a layer: that of MPI-IO if the trace has calls of it. Without ranks in the trace,
    each process is one."""
    files = dict(_files_of(path))
    interfaces = {one.get("interface") for one in files.values()}
    chosen = INTERFACES[layer] if layer else ("MPI-IO" if "MPI-IO" in interfaces else None)
    reader = _Reader(
        LogSketch(f"trace of {chosen or 'POSIX'}"),
        {number: one for number, one in files.items() if one.get("interface") == chosen},
    )
    sketch = reader.sketch
    with tempfile.NamedTemporaryFile(prefix="forebay-fit-") as entries:
        counts = native.tools().export_trace_records(path, entries.name, progress=on_progress)
        sketch.warnings += counts["warnings"]
        total, done = counts["records"], 0
        while len(batch := numpy.fromfile(entries, list(FIELDS.items()), BATCH_RECORDS)):
            done += len(batch)
            on_progress(Progress(done, total, "records", f"reading {path.name}"))
            reader.add(batch)
    reader.finish()
    if not sketch.sketches:
        raise ForebayError(f"{path} has no reads or writes to fit; try another --layer")
    return sketch


def _files_of(path: Path) -> Iterator[tuple[int, dict]]:
    """Number and description of each file of the trace, up to damage."""
    with open(path, "rb") as opened:
        opened.seek(HEAD_BYTES)
        while len(head := opened.read(BLOCK.size)) == BLOCK.size:
            kind, _, stored_bytes, _, _, number, *_ = BLOCK.unpack(head)
            payload = opened.read(stored_bytes)
            try:
                if kind == b"FbyF":
                    yield number, json.loads(payload.decode("utf-8", "replace"))
            except ValueError:
                return


@dataclass
class _Reader:
    """Adds batches of records to a sketch."""

    sketch: LogSketch
    files: dict[int, dict]  # those of the layer, by number
    processes: dict[int, int] = field(default_factory=dict)  # ranks of processes without one
    without_time: int = 0

    def add(self, batch: numpy.ndarray) -> None:
        operations = [OPERATIONS.index(do) for do in ("read", "write")]
        is_call = numpy.isin(batch["operation"], operations) & (batch["flags"] & FAILED == 0)
        batch = batch[is_call & numpy.isin(batch["file"], list(self.files))]
        self.without_time += int((batch["flags"] & TIME_UNKNOWN != 0).sum())
        keys = ["has_rank", "rank", "process", "file", "operation"]
        order = numpy.lexsort([batch["begin_ns"], *(batch[key] for key in reversed(keys))])
        batch = batch[order]
        edges = numpy.flatnonzero(batch[keys][1:] != batch[keys][:-1]) + 1
        for group in numpy.split(batch, edges) if len(batch) else []:
            self._add_group(group)

    def _add_group(self, group: numpy.ndarray) -> None:
        """Calls of one rank to one file."""
        first = group[0]
        if first["has_rank"]:
            rank = int(first["rank"])
        else:
            rank = self.processes.setdefault(int(first["process"]), len(self.processes))
        if rank >= RANKS_MAX:
            raise ForebayError(f"rank {rank} exceeds {RANKS_MAX} ranks of a fit; fit a part")
        begins_s = group["begin_ns"] * NS_S
        offsets = group["offset"].astype("i8")
        offsets[group["flags"] & OFFSET_UNKNOWN != 0] = -1
        ends_s = begins_s + group["duration_ns"] * NS_S
        number = int(first["file"])
        calls = Calls(rank, number, offsets, group["size"].astype("i8"), begins_s, ends_s)
        name = self.files[number].get("path", f"file {number}")
        self.sketch.add(name, OPERATIONS[first["operation"]], calls)

    def finish(self) -> None:
        self.sketch.finish()
        if self.without_time:
            text = f"the times of {self.without_time} calls are unknown, so steps may be wrong"
            self.sketch.warnings.append(text)
