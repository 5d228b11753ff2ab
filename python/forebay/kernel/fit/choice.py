# SPDX-License-Identifier: Apache-2.0
"""Spends the numbers of a kernel: chooses a model for each file class so that the sum of weighted
errors is least."""

from dataclasses import dataclass

import numpy

from forebay.kernel.fit import models
from forebay.kernel.fit.models import Errors, Model
from forebay.kernel.fit.sketch import LogSketch, Sketch
from forebay.kernel.fit.steps import Timing
from forebay.kernel.kernel_file import NUMBERS_MAX

FLOOR = 0.25  # of the weight of a class, equal for all classes
CLASSES_MAX = 8  # with two directions of up to two operations each: 32 operations


@dataclass(frozen=True)
class Option:
    """What is done with a file class. `reads_own`: ranks read what they have written."""

    numbers: int
    error: float  # weighted
    models: dict[str, Model]  # by direction
    reads_own: bool = False


Key = tuple[str, str]


def choose(log: LogSketch, timing: Timing, numbers: int) -> dict[str, Option]:
    """An option for each file class. `numbers` may be spent."""
    weights = _weights(log)
    names = sorted({name for name, _ in weights}, key=lambda name: -_weight_of(weights, name))
    options = {name: _options(log, timing, weights, name) for name in names[:CLASSES_MAX]}
    return _cheapest(options, min(numbers, NUMBERS_MAX))


def _weights(log: LogSketch) -> dict[Key, tuple[float, float]]:
    """Shares of calls and of bytes, with a floor."""
    calls = {key: float(one.calls.sum()) for key, one in log.sketches.items()}
    total = {key: float(one.bytes.sum()) for key, one in log.sketches.items()}
    floor = FLOOR / len(calls)
    return {
        key: tuple(
            floor + (1 - FLOOR) * one[key] / max(sum(one.values()), 1) for one in (calls, total)
        )
        for key in calls
    }


def _weight_of(weights: dict, name: str) -> float:
    return sum(sum(weight) for (one, _), weight in weights.items() if one == name)


def _weighted(errors: Errors, weight: tuple[float, float]) -> float:
    return weight[0] * (errors.sizes + errors.ops) + weight[1] * errors.ranks


def _options(log: LogSketch, timing: Timing, weights: dict, name: str) -> list[Option]:
    """All combinations for writes and reads; the best one for each number of numbers."""
    found = [Option(0, 0.0, {})]
    for do in ("write", "read"):
        key = (name, do)
        if key in log.sketches:
            choices = models.models_of(log.sketches[key], timing.when(key).times)
            own = _own_reads(log, timing, name) if do == "read" else None
            found = [
                made
                for before in found
                for made in _extended(before, do, choices, own, weights[key])
            ]
    best: dict[int, Option] = {}
    for one in found:
        if one.numbers not in best or one.error < best[one.numbers].error:
            best[one.numbers] = one
    return list(best.values())


def _extended(before: Option, do: str, choices, own: Errors | None, weight) -> list[Option]:
    made = [
        Option(
            before.numbers + one.numbers,
            before.error + _weighted(one.errors, weight),
            before.models | {do: one},
        )
        for one in choices
    ]
    writes = before.models.get("write")
    if own is not None and writes is not None and writes.operations:
        error = before.error + _weighted(own, weight)
        made.append(Option(before.numbers, error, before.models, reads_own=True))
    return made


def _own_reads(log: LogSketch, timing: Timing, name: str) -> Errors | None:
    """Errors if ranks read what they have written before. None: they did not."""
    keys = (name, "write"), (name, "read")
    if keys[0] not in log.sketches or timing.when(keys[0]).times != timing.when(keys[1]).times:
        return None
    if timing.windows[keys[1]][0][0] < timing.windows[keys[0]][0][0]:
        return None
    return difference(log.sketches[keys[0]], log.sketches[keys[1]])


def difference(one: Sketch, other: Sketch) -> Errors:
    sizes, counts = one.sizes.arrays()
    other_sizes, other_counts = other.sizes.arrays()
    both = numpy.union1d(sizes, other_sizes)
    shares = [
        numpy.concatenate([[0], weights.cumsum() / weights.sum()])[
            numpy.searchsorted(values, both, "right")
        ]
        for values, weights in ((sizes, counts), (other_sizes, other_counts))
    ]
    ranks = models.distance_of_ranks(one.bytes, other.bytes)
    ops = abs(one.calls.sum() - other.calls.sum()) / other.calls.sum()
    return Errors(float(abs(shares[0] - shares[1]).max()), ranks, float(ops))


def _cheapest(options: dict[str, list[Option]], numbers: int) -> dict[str, Option]:
    """Dynamic programming over the numbers that are spent."""
    best: list[tuple[float, dict[str, Option]]] = [(0.0, {})] * (numbers + 1)
    for name, choices in options.items():
        best = [
            min(
                (
                    (best[spent - one.numbers][0] + one.error, best[spent - one.numbers][1], one)
                    for one in choices
                    if one.numbers <= spent
                ),
                key=lambda found: found[0],
            )
            for spent in range(numbers + 1)
        ]
        best = [(error, before | {name: one}) for error, before, one in best]
    return best[numbers][1]
