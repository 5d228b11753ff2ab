# SPDX-License-Identifier: Apache-2.0
"""Candidate distributions of the sizes of calls: frequent sizes, and a tail."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy
from scipy import stats

from forebay.kernel.kernel_file import count_numbers

EXACT_MAX = 10  # frequent sizes
QUANTILES = (3, 5, 7, 9, 13)
UNIT_BYTES = 8  # the default of a kernel file
WEIGHT_DIGITS = 4
Cdf = Callable[[numpy.ndarray], numpy.ndarray]


@dataclass(frozen=True)
class SizeModel:
    """A distribution as in a kernel file, with its Kolmogorov-Smirnov distance to the log."""

    distribution: dict | float
    unit_bytes: int
    distance: float
    mean: float
    deviation: float

    @property
    def numbers(self) -> int:
        return count_numbers(self.distribution) + (self.unit_bytes != UNIT_BYTES)


def size_models(sizes: numpy.ndarray, counts: numpy.ndarray) -> list[SizeModel]:
    """The best ones for each number of numbers: by distance, and by distance and mean. `sizes`
    ascend."""
    mean = moments(sizes, counts)[0]
    best: dict[tuple, tuple[float, SizeModel]] = {}
    for one in _all_models(sizes, counts):
        for kind, error in enumerate([one.distance, one.distance + abs(one.mean / mean - 1)]):
            key = one.numbers, kind
            if key not in best or error < best[key][0]:
                best[key] = error, one
    return [one for _, one in best.values()]


def _all_models(sizes: numpy.ndarray, counts: numpy.ndarray) -> Iterator[SizeModel]:
    by_count = numpy.argsort(-counts, kind="stable")
    for exact in range(min(EXACT_MAX, len(sizes)) + 1):
        chosen = numpy.sort(by_count[:exact])
        rest = numpy.delete(numpy.arange(len(sizes)), chosen)
        exact_parts = [(int(sizes[i]), float(counts[i])) for i in chosen]
        if exact:
            yield _model(sizes, counts, exact_parts, None)
        if len(rest) > 1 or (len(rest) and not exact):
            for tail in tails(sizes[rest], counts[rest]):
                yield _model(sizes, counts, exact_parts, (tail, float(counts[rest].sum())))


@dataclass(frozen=True)
class Tail:
    """A continuous distribution."""

    distribution: dict
    cdf: Cdf
    mean: float
    deviation: float


def tails(sizes: numpy.ndarray, counts: numpy.ndarray) -> Iterator[Tail]:
    """The family with the least distance, and quantiles."""
    if len(sizes) == 1:
        return
    families = list(_families(sizes, counts))
    yield min(families, key=lambda one: ks_distance(sizes, counts, one.cdf, one.cdf))
    for count in QUANTILES:
        if len(sizes) >= count:
            yield _quantiles(sizes, counts, count)


def _families(sizes: numpy.ndarray, counts: numpy.ndarray) -> Iterator[Tail]:
    mean, deviation, low, high = *moments(sizes, counts), float(sizes[0]), float(sizes[-1])
    yield _tail("uniform", stats.uniform(low, high - low), low=low, high=high)
    yield _tail("normal", stats.norm(mean, deviation), mean=mean, deviation=deviation)
    shape = (mean / deviation) ** 2
    yield _tail("gamma", stats.gamma(shape, scale=mean / shape), mean=mean, deviation=deviation)
    if mean >= low + 1:
        yield _tail("exponential", stats.expon(low, mean - low), mean=mean, low=low)
    log_mean, sigma = moments(numpy.log(sizes), counts)
    lognormal = stats.lognorm(sigma, scale=numpy.exp(log_mean))
    log_deviation = lognormal.std()
    if log_deviation < high:  # else the tail of the log is shorter
        yield _tail("lognormal", lognormal, mean=lognormal.mean(), deviation=log_deviation)


def _tail(family: str, frozen, **parameters: float) -> Tail:
    whole = {name: max(round(float(value)), 1) for name, value in parameters.items()}
    return Tail({"family": family} | whole, frozen.cdf, frozen.mean(), frozen.std())


def _quantiles(sizes: numpy.ndarray, counts: numpy.ndarray, count: int) -> Tail:
    """The last value is not the largest size: it makes the mean that of the log."""
    steps = numpy.linspace(0, 1, count)
    values = weighted_quantiles(sizes, counts, steps)
    mean = moments(sizes, counts)[0]
    without_last = values[:-1].sum() - values[0] / 2
    values[-1] = max(2 * (mean * (count - 1) - without_last), values[-2])
    values = numpy.rint(values)
    left, right = values[:-1], values[1:]
    mean = float((left + right).mean() / 2)
    square = float((left**2 + left * right + right**2).mean() / 3)
    document = {"family": "quantiles", "values": values.astype(int).tolist()}
    deviation = max(square - mean**2, 0) ** 0.5
    # Equal values are a jump: numpy.interp() takes the last of them.
    return Tail(document, lambda x: numpy.interp(x, values, steps), mean, deviation)


def _model(sizes, counts, exact: list[tuple[int, float]], tail) -> SizeModel:
    weights = [count for _, count in exact] + ([tail[1]] if tail else [])
    shares = numpy.array(weights) / sum(weights)
    values, cumulative = [size for size, _ in exact], numpy.cumsum(shares[: len(exact)])

    def cdf(x, side="right"):
        below = numpy.concatenate([[0], cumulative])[numpy.searchsorted(values, x, side)]
        return below + (shares[-1] * tail[0].cdf(x) if tail else 0)

    distance = ks_distance(sizes, counts, cdf, lambda x: cdf(x, "left"))
    means = numpy.array(values + ([tail[0].mean] if tail else []), float)
    spreads = numpy.array([0.0] * len(values) + ([tail[0].deviation] if tail else []))
    mean = float(shares @ means)
    deviation = max(float(shares @ (spreads**2 + means**2)) - mean**2, 0) ** 0.5
    return SizeModel(_distribution(values, shares, tail), _unit(values), distance, mean, deviation)


def _distribution(values: list[int], shares: numpy.ndarray, tail) -> dict | float:
    shares = [float(f"{one:.{WEIGHT_DIGITS}g}") for one in shares]
    if not tail and len(values) == 1:
        return values[0]
    if not tail:
        return {"family": "table", "values": values, "weights": shares}
    if not values:
        return tail[0].distribution
    parts = [
        {"family": "constant", "value": value, "weight": share}
        for value, share in zip(values, shares, strict=False)
    ]
    return {"family": "mixture", "parts": [*parts, tail[0].distribution | {"weight": shares[-1]}]}


def _unit(values: list[int]) -> int:
    return 1 if any(value % UNIT_BYTES for value in values) else UNIT_BYTES


def ks_distance(sizes: numpy.ndarray, counts: numpy.ndarray, cdf: Cdf, before: Cdf) -> float:
    """The largest difference to the distribution of calls. `before` is the left limit of `cdf`."""
    upper = numpy.cumsum(counts) / counts.sum()
    lower = numpy.concatenate([[0], upper[:-1]])
    return float(max(abs(cdf(sizes) - upper).max(), abs(before(sizes) - lower).max()))


def moments(values: numpy.ndarray, counts: numpy.ndarray) -> tuple[float, float]:
    """Mean, and deviation above 0."""
    mean = float(numpy.average(values, weights=counts))
    return mean, max(float(numpy.average((values - mean) ** 2, weights=counts)) ** 0.5, 1e-9)


def weighted_quantiles(values, counts, probabilities) -> numpy.ndarray:
    """The inverse of the distribution of calls."""
    upper = numpy.cumsum(counts) / counts.sum()
    at = numpy.searchsorted(upper, numpy.asarray(probabilities) - 1e-12)
    return values[numpy.minimum(at, len(values) - 1)]
