# SPDX-License-Identifier: Apache-2.0
"""Candidate models of the calls of a file class in one direction, with their errors.

A model is one operation, or two: if most calls of each rank have a size of that rank, these calls
are an operation whose sizes are drawn once for a rank, and the rest is another one, or is left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy

from forebay.kernel.fit.size_models import UNIT_BYTES, SizeModel, size_models, weighted_quantiles
from forebay.kernel.fit.sketch import Sketch
from forebay.kernel.kernel_file import count_numbers

FREQUENT_SHARE = 0.5  # of the calls, that have the size of their rank
QUANTILES = (3, 5, 9)
TABLE_VALUES = (2, 3, 4, 6)
DRAWS_SEED = 1  # of estimates


@dataclass(frozen=True)
class Errors:
    """Differences to the log; 0 is equal, 1 is nothing in common."""

    sizes: float  # Kolmogorov-Smirnov distance of the sizes of calls
    ranks: float  # total variation of the bytes of ranks, in ascending order
    ops: float  # of the number of calls, relative


LEFT_OUT = Errors(1, 1, 1)


@dataclass(frozen=True)
class Model:
    """Operations as in a kernel file, without names."""

    operations: tuple[dict, ...]
    errors: Errors

    @property
    def numbers(self) -> int:
        return sum(map(count_numbers, self.operations))


@dataclass(frozen=True)
class Part:
    """Calls that become one operation."""

    sizes: numpy.ndarray
    counts: numpy.ndarray  # calls of each size
    calls: numpy.ndarray  # by rank
    bytes: numpy.ndarray  # by rank
    drawn: str = "call"  # of sizes


def models_of(sketch: Sketch, times: int) -> list[Model]:
    """All models, and that nothing is done. `times` is the number of steps with the operation."""
    sizes, counts = sketch.sizes.arrays()
    whole = Part(sizes, counts, sketch.calls, sketch.bytes)
    found = [Model((), LEFT_OUT), *_pareto(_operations(whole, times))]
    frequent = _frequent(sketch, whole)
    if frequent is not None:
        rest = _without(whole, frequent)
        firsts = _pareto(_operations(frequent, times))
        seconds = [Model((), LEFT_OUT)]
        if rest.calls.sum() > 0:
            seconds += _pareto(_operations(rest, times))
        found += [_joined(one, two, frequent, rest) for one in firsts for two in seconds]
    return _pareto(found)


def _pareto(models) -> list[Model]:
    """The models that no other one excels in numbers and in the sum of errors."""
    kept: list[Model] = []
    for one in sorted(models, key=lambda model: (model.numbers, total(model.errors))):
        if not kept or total(one.errors) < total(kept[-1].errors):
            kept.append(one)
    return kept


def total(errors: Errors) -> float:
    return errors.sizes + errors.ranks + errors.ops


def _frequent(sketch: Sketch, whole: Part) -> Part | None:
    """The calls with the size of their rank, if ranks differ."""
    rows = sketch.by_rank[sketch.calls > 0]
    sizes = numpy.unique(rows["frequent_size"])
    if len(sizes) < 2 or rows["frequent_calls"].sum() <= FREQUENT_SHARE * rows["calls"].sum():
        return None
    counts = numpy.bincount(
        numpy.searchsorted(sizes, rows["frequent_size"]), weights=rows["frequent_calls"]
    )
    calls = numpy.where(sketch.calls > 0, sketch.by_rank["frequent_calls"], 0)
    own_bytes = calls * sketch.by_rank["frequent_size"]
    return Part(sizes.astype(float), counts, calls, own_bytes, "writer")


def _without(whole: Part, frequent: Part) -> Part:
    counts = whole.counts.copy()
    at = numpy.searchsorted(whole.sizes, frequent.sizes)
    at = numpy.minimum(at, len(counts) - 1)
    counts[at] = numpy.maximum(counts[at] - frequent.counts, 0)
    kept = counts > 0
    calls = whole.calls - frequent.calls
    rest_bytes = numpy.maximum(whole.bytes - frequent.bytes, 0)
    return Part(whole.sizes[kept], counts[kept], calls, rest_bytes)


def _joined(one: Model, two: Model, frequent: Part, rest: Part) -> Model:
    calls = numpy.array([frequent.calls.sum(), rest.calls.sum()], float)
    all_bytes = numpy.array([frequent.bytes.sum(), rest.bytes.sum()], float)
    call_shares, byte_shares = calls / calls.sum(), all_bytes / all_bytes.sum()
    pairs = {name: (getattr(one.errors, name), getattr(two.errors, name)) for name in NAMES}
    shares = {"sizes": call_shares, "ranks": byte_shares, "ops": call_shares}
    errors = Errors(**{name: float(shares[name] @ pairs[name]) for name in NAMES})
    return Model(one.operations + two.operations, errors)


NAMES = ("sizes", "ranks", "ops")


def _operations(part: Part, times: int) -> Iterator[Model]:
    if len(part.sizes) == 0:
        return
    sizes = size_models(part.sizes, part.counts)
    for ranks, calls, predicted in _calls_models(part.calls, times):
        for size in sizes:
            document = {"size": _drawn(size.distribution, part.drawn)}
            document |= {} if ranks == "all" else {"ranks": ranks}
            document |= {} if calls == 1 else {"calls": calls}
            document |= {} if size.unit_bytes == UNIT_BYTES else {"unit_bytes": size.unit_bytes}
            ops = abs(predicted.sum() - part.calls.sum()) / part.calls.sum()
            ranks_error = distance_of_ranks(_bytes(part, predicted, size), part.bytes)
            yield Model((document,), Errors(size.distance, ranks_error, float(ops)))


def _drawn(distribution, drawn: str):
    is_constant = not isinstance(distribution, dict)
    return distribution if is_constant or drawn == "call" else distribution | {"drawn": drawn}


def _bytes(part: Part, calls: numpy.ndarray, size: SizeModel) -> numpy.ndarray:
    """An estimate for each rank: sums of independent draws, or one draw for a rank."""
    draws = numpy.random.default_rng(DRAWS_SEED).standard_normal(len(calls))
    spread = calls if part.drawn == "writer" else numpy.sqrt(calls)
    return numpy.maximum(calls * size.mean + spread * size.deviation * draws, 0)


def distance_of_ranks(one, other) -> float:
    """Total variation of two lists of bytes by rank, both in ascending order."""
    one, other = numpy.sort(numpy.asarray(one, float)), numpy.sort(numpy.asarray(other, float))
    return float(abs(one - other).sum() / max(one.sum() + other.sum(), 1))


def _calls_models(calls: numpy.ndarray, times: int) -> Iterator[tuple]:
    """Ranks, calls of a rank in a step, and the calls of all ranks and steps as estimated."""
    ranks, chosen = _ranks_of(calls)
    each = calls[chosen] / times

    def model(distribution, values):
        predicted = numpy.zeros(len(calls))
        predicted[chosen] = numpy.rint(numpy.resize(values, len(each))) * times
        return ranks, distribution, predicted

    mean = float(each.mean())
    if round(mean) > 0:
        yield model(round(mean), round(mean))
    if abs(mean - round(mean)) > 1e-9:  # rounded up or down, so that the mean is that of the log
        low, high = round(mean - 0.5, 3), round(mean + 0.5, 3)
        values = numpy.linspace(low, high, len(each) + 2)[1:-1]
        yield model({"family": "uniform", "low": low, "high": high}, values)
    whole, counts = numpy.unique(numpy.rint(each), return_counts=True)
    if len(whole) > 1:
        yield from _differing(whole, counts, len(each), model)


def _differing(whole: numpy.ndarray, counts: numpy.ndarray, ranks: int, model) -> Iterator[tuple]:
    """Tables of frequent values, and quantiles."""
    middles = (numpy.arange(ranks) + 0.5) / ranks
    for count in TABLE_VALUES:
        top = numpy.sort(numpy.argsort(-counts, kind="stable")[:count])
        values, weights = whole[top].astype(int).tolist(), counts[top].tolist()
        table = {"family": "table", "values": values, "weights": weights, "drawn": "writer"}
        yield model(table, weighted_quantiles(whole[top], counts[top], middles))
    for count in QUANTILES:
        values = weighted_quantiles(whole, counts, numpy.linspace(0, 1, count))
        document = {"family": "quantiles", "values": values.astype(int).tolist()}
        drawn = numpy.interp(middles, numpy.linspace(0, 1, count), values)
        yield model(document | {"drawn": "writer"}, drawn)


def _ranks_of(calls: numpy.ndarray) -> tuple[str, numpy.ndarray]:
    """The ranks with calls if they are equally spaced, else all. The text suits other numbers of
    ranks: `1::2`, `:-1`."""
    active, count = numpy.flatnonzero(calls), len(calls)
    strides = numpy.diff(active)
    if len(active) == count or (strides != strides[:1]).any():
        return "all", numpy.arange(count)
    first, last = int(active[0]), int(active[-1])
    if first == last:
        return "-1" if last == count - 1 else str(first), active
    stride = int(strides[0])
    end = last + 1 if last < count / 2 else last + 1 - count
    text = f"{first or ''}:{end if last + stride < count else ''}"
    return text if stride == 1 else f"{text}:{stride}", active
