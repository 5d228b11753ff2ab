# SPDX-License-Identifier: Apache-2.0
"""How well a kernel repeats a log: its draws at the ranks of the log, compared with the log."""

from dataclasses import asdict

import numpy

from forebay.kernel.fit.kernel_maker import Fitted
from forebay.kernel.fit.models import LEFT_OUT, NAMES, Errors, distance_of_ranks
from forebay.kernel.fit.sketch import LogSketch, Sketch

SHARE_MIN = 0.05
SHARES = ("calls", "bytes")


def compare(log: LogSketch, made: Fitted, drawn: dict) -> dict:
    """{"sizes","ranks","ops","operations":[...]}: 0 is equal, 1 is nothing in common.

    A value of the kernel is the average of the values of file classes and directions, by calls for
    `sizes` and `ops`, by bytes for `ranks`. What the kernel leaves out counts as 1.
    """
    by_name = {one["name"]: one for one in drawn["operations"]}
    rows = []
    for key, sketch in log.sketches.items():
        parts = [by_name[name] for name in made.draws.get(key, [])]
        errors = _errors(sketch, parts, made.repeats[key]) if parts else LEFT_OUT
        facts = {"class": key[0], "do": key[1], "operations": made.draws.get(key, [])}
        counts = {"calls": int(sketch.calls.sum()), "bytes": int(sketch.bytes.sum())}
        rows.append(facts | counts | asdict(errors))
    rows.sort(key=lambda row: -row["bytes"])
    weights = {"sizes": "calls", "ranks": "bytes", "ops": "calls"}
    return {name: _average(rows, name, weight) for name, weight in weights.items()} | {
        "operations": rows
    }


def worst(document: dict) -> float:
    """The largest value of the kernel, and of each class with a share of the calls or the bytes
    that is not small, unless it is left out."""
    totals = {name: sum(row[name] for row in document["operations"]) for name in SHARES}
    rows = [
        row
        for row in document["operations"]
        if row["operations"] and any(row[name] > SHARE_MIN * totals[name] for name in SHARES)
    ]
    return max(one[name] for one in [document, *rows] for name in NAMES)


def _average(rows: list[dict], name: str, weight: str) -> float:
    return float(numpy.average([row[name] for row in rows], weights=[row[weight] for row in rows]))


def _errors(sketch: Sketch, parts: list[dict], repeats: int) -> Errors:
    calls = [float(numpy.sum(part["calls"])) for part in parts]
    sizes, weights = [], []
    for part, count in zip(parts, calls, strict=True):
        if part["sizes"]:
            sizes.append(numpy.array(part["sizes"], float))
            weights.append(numpy.full(len(part["sizes"]), count / len(part["sizes"])))
    if not sizes:
        return LEFT_OUT
    total_bytes = repeats * sum(numpy.array(part["bytes"]).sum(axis=0) for part in parts)
    log_calls = float(sketch.calls.sum())
    return Errors(
        sizes=_distance(sketch, numpy.concatenate(sizes), numpy.concatenate(weights)),
        ranks=distance_of_ranks(total_bytes, sketch.bytes),
        ops=abs(repeats * sum(calls) - log_calls) / log_calls,
    )


def _distance(sketch: Sketch, sizes: numpy.ndarray, weights: numpy.ndarray) -> float:
    """Kolmogorov-Smirnov distance of the draws to the log."""
    values, counts = sketch.sizes.arrays()
    both = numpy.union1d(values, sizes)
    shares = []
    for found, weight in ((values, counts), (sizes, weights)):
        order = numpy.argsort(found, kind="stable")
        cumulative = numpy.concatenate([[0], weight[order].cumsum() / weight.sum()])
        shares.append(cumulative[numpy.searchsorted(found[order], both, "right")])
    return float(abs(shares[0] - shares[1]).max())
