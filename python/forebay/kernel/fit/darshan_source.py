# SPDX-License-Identifier: Apache-2.0
"""Sketches of Darshan logs: segments of DXT, else counters of the module POSIX."""

from pathlib import Path

import numpy

from forebay.errors import ForebayError
from forebay.kernel.fit import counters
from forebay.kernel.fit.sketch import RANKS_MAX, Calls, LogSketch
from forebay.native import OnProgress, Progress
from forebay.trace_import import darshan_log
from forebay.trace_import.records import NUMBER_MAX

LAYERS = {"mpiio": "DXT_MPIIO", "posix": "DXT_POSIX"}  # the highest first
HINT = "run the program with DXT_ENABLE_IO_TRACE=1 for all calls"


def read(file: str, layer: str | None, on_progress: OnProgress) -> LogSketch:
    """Reads the layer, else the highest one whose records have offsets, else counters."""
    with darshan_log.open_log(file) as log:
        job = log.backend.log_get_job(log.log)
        if not 1 <= job["nprocs"] <= RANKS_MAX:
            cause = f"it has {job['nprocs']} ranks, not 1 to {RANKS_MAX}"
            raise ForebayError(f"{file}: the log is damaged: {cause}")
    wanted = [LAYERS[layer]] if layer else list(LAYERS.values())
    found = [one for one in wanted if one in log.modules]
    if layer == "mpiio" and not found:
        raise ForebayError(f"{file} has no {LAYERS[layer]}; omit --layer, or {HINT}")
    sketch = None
    for module in found:
        sketch = _read_dxt(file, module, job, on_progress)
        if sketch.has_order or layer:
            break
    if sketch is None or not sketch.sketches:
        sketch = _read_counters(file, job, sketch)
    if not sketch.sketches:
        damage = [text for text in sketch.warnings if "damaged" in text]
        cause = damage[0] if damage else "it has no reads or writes of POSIX"
        raise ForebayError(f"{file} has nothing to fit: {cause}; {HINT}")
    return sketch


def _read_dxt(file: str, module: str, job: dict, on_progress: OnProgress) -> LogSketch:
    """A log that ends too early keeps what precedes, with a warning."""
    sketch = _new_sketch(module, job)
    ranks = sketch.ranks
    with darshan_log.open_log(file) as log:
        if log.modules[module]["partial_flag"]:
            sketch.warnings.append("Darshan had no memory for all segments; some are missing")
        try:
            for head, segments in darshan_log.dxt_records(log, module):
                rank = head.base_rec.rank
                on_progress(Progress(min(rank + 1, ranks), ranks, "ranks", f"reading {module}"))
                name = log.names.get(head.base_rec.id, f"file {head.base_rec.id}")
                _add_record(sketch, name, head, segments)
        except ForebayError as error:
            calls = sum(int(one.calls.sum()) for one in sketch.sketches.values())
            sketch.warnings.append(f"{error}; {calls} calls before that are kept")
    sketch.finish()
    return sketch


def _new_sketch(module: str, job: dict) -> LogSketch:
    return LogSketch(module, ranks=job["nprocs"], duration_s=max(job["run_time"], 0))


def _add_record(sketch: LogSketch, name: str, head, segments: numpy.ndarray) -> None:
    rank = head.base_rec.rank
    times = numpy.concatenate([segments["start"], segments["end"]])
    is_valid = (segments["length"] >= 0) & (segments["offset"] <= NUMBER_MAX - segments["length"])
    has_times = bool((numpy.abs(times) < darshan_log.SECONDS_MAX).all())
    if not 0 <= rank < sketch.ranks or not is_valid.all() or not has_times:
        raise ForebayError(f"a segment of rank {rank} has invalid numbers")
    sketch.has_order = sketch.has_order and bool((segments["offset"] >= 0).all())
    for do, some in (
        ("write", segments[: head.write_count]),
        ("read", segments[head.write_count :]),
    ):
        some = some[numpy.argsort(some["start"], kind="stable")]
        columns = (some["offset"], some["length"], some["start"], some["end"])
        sketch.add(name, do, Calls(rank, head.base_rec.id, *columns))


def _read_counters(file: str, job: dict, before: LogSketch | None) -> LogSketch:
    sketch = _new_sketch("POSIX counters", job)
    sketch.has_order = False
    sketch.warnings += before.warnings if before is not None else []
    sketch.warnings.append(f"counters only, so sizes and times are estimates; {HINT}")
    with darshan_log.open_log(file) as log:
        if "POSIX" not in log.modules:
            raise ForebayError(f"{file} has neither DXT records nor the module POSIX; {HINT}")
        try:
            for record in darshan_log.records(log, "POSIX"):
                counters.add_record(sketch, counters.posix_record(log, record))
        except ForebayError as error:
            sketch.warnings.append(f"{error}; the counters before that are kept")
    sketch.finish()
    return sketch


def is_log(path: Path) -> bool:
    with open(path, "rb") as opened:
        return darshan_log.is_begin(opened.read(16))
