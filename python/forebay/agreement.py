# SPDX-License-Identifier: Apache-2.0
"""How well simulated numbers agree with published ones."""

import math
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import TypeVar

Key = TypeVar("Key")


def relative_errors(theirs: Mapping[Key, float], ours: Mapping[Key, float]) -> dict[Key, float]:
    """ours / theirs - 1 of each published number."""
    return {key: ours[key] / value - 1 for key, value in theirs.items()}


def compare(theirs: Mapping[Key, float], ours: Mapping[Key, float]) -> dict:
    """Mean and largest relative error, Kendall's tau (b, for ties), and the best keys of both."""
    errors = [abs(one) for one in relative_errors(theirs, ours).values()]
    return {
        "mean_error": sum(errors) / len(errors),
        "max_error": max(errors),
        "tau": kendall_tau([(value, ours[key]) for key, value in theirs.items()]),
        "best_theirs": max(theirs, key=theirs.__getitem__),
        "best_ours": max(theirs, key=lambda key: ours[key]),
    }


def kendall_tau(points: Iterable[tuple[float, float]]) -> float:
    """Kendall's tau-b: 1 for equal orders, -1 for opposite ones. Ties count in neither."""
    signs = [
        (math.copysign(a[0] != b[0], a[0] - b[0]), math.copysign(a[1] != b[1], a[1] - b[1]))
        for a, b in combinations(points, 2)
    ]
    norms = [math.sqrt(sum(pair[side] ** 2 for pair in signs)) for side in (0, 1)]
    return sum(one * other for one, other in signs) / (norms[0] * norms[1] or 1)


def factor(one: float, other: float) -> float:
    """The factor between two positive numbers, at least 1."""
    return max(one / other, other / one)


def ordered_pairs(
    peaks: Mapping[str, float], below: Mapping[str, float]
) -> Iterable[tuple[str, str]]:
    """(faster, slower) of each pair that printed numbers order. `below` has upper limits only, so
    it orders a pair only if the other number is above the limit."""
    for one, other in combinations(peaks, 2):
        if peaks[one] != peaks[other]:
            yield (one, other) if peaks[one] > peaks[other] else (other, one)
    for slow, limit in below.items():
        yield from ((fast, slow) for fast, peak in peaks.items() if peak > limit)
