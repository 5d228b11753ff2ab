# SPDX-License-Identifier: Apache-2.0
"""Sketches from counters of Darshan's module POSIX.

A record has ten ranges of sizes for each direction, the four most common sizes of both, and the
begin and end of all calls. A record of a shared file has sums over ranks, their variance, and the
bytes of the fastest and the slowest rank.
"""

from dataclasses import dataclass

import numpy

from forebay.kernel.fit.sketch import LogSketch, Sketch
from forebay.trace_import.darshan_log import OpenLog

# Upper limits of the ranges are inclusive; the last one is a choice.
KIB, MIB, GIB = 2.0**10, 2.0**20, 2.0**30
EDGES = numpy.array(
    [1, 100, KIB, 10 * KIB, 100 * KIB, MIB, 4 * MIB, 10 * MIB, 100 * MIB, GIB, 16 * GIB]
)
SUFFIXES = (
    *("0_100", "100_1K", "1K_10K", "10K_100K", "100K_1M"),
    *("1M_4M", "4M_10M", "10M_100M", "100M_1G", "1G_PLUS"),
)
COMMON_SIZES = 4
SHARED = -1  # rank of a record of all ranks
DIRECTIONS = {"write": "WRITTEN", "read": "READ"}


@dataclass(frozen=True)
class Record:
    """Counters of one file, without the name of their module."""

    file: int
    name: str
    rank: int
    counters: dict[str, float]


def posix_record(log: OpenLog, pointer) -> Record:
    record = log.backend.ffi.cast("struct darshan_posix_file *", pointer)
    names = (log.backend.counter_names("POSIX"), log.backend.fcounter_names("POSIX"))
    values = (record.counters, record.fcounters)
    counters = {
        name.removeprefix("POSIX_"): values[i][k]
        for i in range(len(names))
        for k, name in enumerate(names[i])
    }
    number = record.base_rec.id
    return Record(number, log.names.get(number, f"file {number}"), record.base_rec.rank, counters)


def add_record(sketch: LogSketch, record: Record) -> None:
    for do, bytes_suffix in DIRECTIONS.items():
        calls = int(record.counters[f"{do.upper()}S"])
        total = int(record.counters[f"BYTES_{bytes_suffix}"])
        if calls <= 0 or total <= 0:
            sketch.empty_calls += max(calls, 0)
            continue
        one = sketch.sketch(record.name, do)
        one.grow(sketch.ranks)
        for size, count in sizes_of(record.counters, do, total):
            one.sizes.add(size, count)
        _add_ranks(one, record, calls, total)
        begin, end = (record.counters[f"F_{do.upper()}_{edge}_TIMESTAMP"] for edge in EDGE_NAMES)
        times = numpy.array([max(begin, 0)]), numpy.array([max(end, begin, 0)])
        one.activity.add(*times, numpy.array([total]))
        one.add_window(record.file, float(times[0][0]), float(times[1][0]))


EDGE_NAMES = ("START", "END")


def sizes_of(counters: dict, do: str, total: int) -> list[tuple[int, int]]:
    """Sizes and calls. Calls without an exact size are in the middle of their range, on a
    logarithmic scale, or where the bytes of the record put them."""
    left = numpy.array([counters[f"SIZE_{do.upper()}_{suffix}"] for suffix in SUFFIXES], float)
    other = "READ" if do == "write" else "WRITE"
    others = numpy.array([counters[f"SIZE_{other}_{suffix}"] for suffix in SUFFIXES], float)
    found = []
    for i in range(1, COMMON_SIZES + 1):
        size, count = int(counters[f"ACCESS{i}_ACCESS"]), int(counters[f"ACCESS{i}_COUNT"])
        at = int(numpy.searchsorted(EDGES[1:-1], size))
        if size > 0 and left[at] > 0:  # common sizes are those of both directions
            share = left[at] / (left[at] + max(others[at], 0))
            own = int(min(round(count * share), left[at]))
            found.append((size, own))
            left[at] -= own
    ranges = numpy.flatnonzero(left > 0)
    middles = numpy.sqrt(EDGES[ranges] * EDGES[ranges + 1])
    bytes_left = total - sum(size * count for size, count in found)
    scale = bytes_left / max(float((middles * left[ranges]).sum()), 1)
    sizes = numpy.clip(middles * max(scale, 0), EDGES[ranges], EDGES[ranges + 1])
    found += [(int(size), int(left[at])) for size, at in zip(sizes, ranges, strict=True)]
    return [(size, count) for size, count in found if count > 0]


def _add_ranks(one: Sketch, record: Record, calls: int, total: int) -> None:
    if record.rank != SHARED:
        one.by_rank["calls"][record.rank] += calls
        one.by_rank["bytes"][record.rank] += total
        return
    shares = shares_of(record.counters, len(one.by_rank))
    one.by_rank["calls"] += _whole_parts(shares, calls)
    one.by_rank["bytes"] += _whole_parts(shares, total)


def shares_of(counters: dict, ranks: int) -> numpy.ndarray:
    """Shares of ranks in a shared file. Their order is not in the log."""
    from scipy.stats import norm

    both = counters["BYTES_READ"] + counters["BYTES_WRITTEN"]
    mean, deviation = both / ranks, max(counters["F_VARIANCE_RANK_BYTES"], 0) ** 0.5
    if deviation > mean:  # a few ranks do all I/O
        active = max(round(ranks / (1 + (deviation / mean) ** 2)), 1)
        return (numpy.arange(ranks) < active) / active
    shares = mean + deviation * norm.ppf((numpy.arange(ranks) + 0.5) / ranks)
    for which in ("FASTEST", "SLOWEST"):
        rank = int(counters[f"{which}_RANK"])
        if deviation > 0 and 0 <= rank < ranks:
            shares[rank] = counters[f"{which}_RANK_BYTES"]
    shares = numpy.maximum(shares, 0)
    return shares / shares.sum() if shares.sum() > 0 else numpy.full(ranks, 1 / ranks)


def _whole_parts(shares: numpy.ndarray, total: int) -> numpy.ndarray:
    """Integers with this sum, in proportion to the shares."""
    return numpy.diff(numpy.rint(numpy.concatenate([[0], shares.cumsum()]) * total)).astype("i8")
