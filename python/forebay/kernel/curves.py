# SPDX-License-Identifier: Apache-2.0
"""Cumulative distribution functions of kernel files, to compare draws with them."""

import numpy as np

from forebay.kernel.distribution import Mixture, Table


def cumulative(distribution, values: np.ndarray) -> np.ndarray | None:
    """The probability that a draw is at most each of `values`. None for walkers and replays, whose
    draws depend on the step.

    The rounding of sizes to units is left out.
    """
    match distribution.family:
        case "constant":
            return (values >= distribution.value).astype(float)
        case "table":
            return _of_table(distribution, values)
        case "uniform":
            return np.interp(values, [distribution.low, distribution.high], [0, 1])
        case "quantiles":
            probabilities = np.linspace(0, 1, len(distribution.values))
            return np.interp(values, distribution.values, probabilities)
        case "mixture":
            return _of_mixture(distribution, values)
        case "normal" | "exponential" | "lognormal" | "gamma":
            return _frozen(distribution).cdf(values)
        case _:
            return None


def _frozen(distribution):
    from scipy import stats

    mean = distribution.mean
    if distribution.family == "exponential":
        return stats.expon(loc=distribution.low, scale=mean - distribution.low)
    deviation = distribution.deviation
    if distribution.family == "normal":
        return stats.norm(mean, deviation)
    if distribution.family == "gamma":
        return stats.gamma((mean / deviation) ** 2, scale=deviation**2 / mean)
    variance = np.log1p((deviation / mean) ** 2)
    return stats.lognorm(np.sqrt(variance), scale=mean / np.exp(variance / 2))


def _of_table(table: Table, values: np.ndarray) -> np.ndarray:
    weights = np.array(table.weights or [1.0] * len(table.values))
    order = np.argsort(table.values)
    sums = np.concatenate([[0], np.cumsum(weights[order])]) / weights.sum()
    return sums[np.searchsorted(np.array(table.values)[order], values, side="right")]


def _of_mixture(mixture: Mixture, values: np.ndarray) -> np.ndarray:
    total = sum(part.weight for part in mixture.parts)
    return sum(part.weight / total * cumulative(part, values) for part in mixture.parts)
