# SPDX-License-Identifier: Apache-2.0
"""Axes of bytes, with ticks at powers of two, for every library of plots."""

import math
from dataclasses import dataclass

from forebay.report import units

TICKS_MAX = 6
LOGARITHMIC_FROM = 64  # largest / smallest value


@dataclass(frozen=True)
class ByteAxis:
    """The range of an axis, and its ticks with their texts."""

    scale: str  # "log" or "linear"
    low: float
    high: float
    ticks: list[float]
    texts: list[str]


def byte_axis(smallest: float, largest: float) -> ByteAxis:
    """An axis for values between both, of which `largest` is positive. It is logarithmic if they
    differ by orders of magnitude."""
    if smallest > 0 and largest / smallest >= LOGARITHMIC_FROM:
        first, last = math.floor(math.log2(smallest)), math.ceil(math.log2(largest))
        step = math.ceil((last - first) / TICKS_MAX)
        ticks = [2.0**power for power in range(first, last + 1, step)]
        return ByteAxis("log", 2.0**first, 2.0**last, ticks, _texts(ticks))
    step = max(1.0, 2.0 ** math.ceil(math.log2(largest / TICKS_MAX)))
    ticks = [step * number for number in range(math.floor(1.05 * largest / step) + 1)]
    return ByteAxis("linear", 0, 1.05 * largest, ticks, _texts(ticks))


def _texts(ticks: list[float]) -> list[str]:
    return [units.size(tick) for tick in ticks]
