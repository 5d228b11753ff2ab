# SPDX-License-Identifier: Apache-2.0
"""Signatures of offsets: each rank makes the same number of calls of one size, at a stride."""

import numpy

from forebay.kernel.fit.sketch import NO_RUN, Sketch

INTERLEAVED_MIN = 2  # calls of a rank


def signature_of(sketch: Sketch, times: int) -> str | None:
    """The places of the calls of each rank in a step, relative to the first one. None if they have
    no rule, or are consecutive, as a kernel without offsets is."""
    rows = sketch.by_rank
    if (rows["calls"] == 0).any() or (rows["run_calls"] == NO_RUN).any():
        return None
    count, stride, size = (int(rows[name][0]) for name in ("run_calls", "run_stride", "run_size"))
    is_same = (rows["run_calls"] == count) & (rows["run_stride"] == stride)
    if not (is_same & (rows["run_size"] == size)).all() or (rows["calls"] != count * times).any():
        return None
    shifts = numpy.unique(numpy.diff(rows["run_begin"]))
    if len(shifts) != 1 or count < INTERLEAVED_MIN:
        return None
    shift, ranks = int(shifts[0]), len(rows)
    if not size <= shift <= stride // ranks:  # ranks would overlap, or each has its own region
        return None
    whole, rest = divmod(stride, ranks)
    step = f"{stride} i" if rest else f"{whole} writers i"
    return f"{{{count} x ({step} + {shift} rank, {size})}}"


def is_pattern_lost(sketch: Sketch) -> bool:
    """Whether calls of a rank have gaps between them, or no rule."""
    rows = sketch.by_rank[sketch.calls > 0]
    if (rows["run_calls"] == NO_RUN).any():
        return True
    several = rows[rows["run_calls"] > 1]
    return bool((several["run_stride"] != several["run_size"]).any())
