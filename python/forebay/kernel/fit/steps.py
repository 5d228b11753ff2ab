# SPDX-License-Identifier: Apache-2.0
"""Steps of a program: the episodes in which it reads or writes a file class, and computation."""

from dataclasses import dataclass

import numpy

from forebay.kernel.fit import activity
from forebay.kernel.fit.sketch import LogSketch, Sketch

GAP_RATIO = 3  # a gap between steps / the longest gap within one, at least
GAPS_SHARE = 0.2  # of the time from the first to the last call that is between steps, at least
IRREGULAR = 0.5  # deviation / mean of the bytes of episodes, at most
SHARE_MIN = 0.05  # of the calls or the bytes that a class needs to determine the steps
Window = tuple[float, float]


@dataclass(frozen=True)
class When:
    """The steps in which an operation is done."""

    when: str
    every: int
    times: int  # steps with the operation


@dataclass(frozen=True)
class Timing:
    """Steps of a program."""

    steps: int
    compute_s: float
    windows: dict[tuple[str, str], list[Window]]

    def when(self, key: tuple[str, str]) -> When:
        windows = self.windows[key]
        count, all_windows = len(windows), max(self.windows.values(), key=len)
        if self.steps == 1 or count == self.steps:
            return When("each", 1, self.steps)
        if self.steps % count == 0 and count > 1:
            return When("each", self.steps // count, count)
        if count == 1 and windows[0][1] <= all_windows[1][0]:
            return When("first", 1, 1)
        if count == 1 and windows[0][0] >= all_windows[-1][0]:
            return When("last", 1, 1)
        return When("each", 1, self.steps)

    def is_spread(self, key: tuple[str, str]) -> bool:
        """Whether an operation is done in each step, and the log has another number of episodes."""
        found = self.when(key)
        return found.times == self.steps and len(self.windows[key]) != self.steps


def find(log: LogSketch) -> Timing:
    windows = {key: _episodes(one) for key, one in log.sketches.items()}
    calls = {key: float(one.calls.sum()) for key, one in log.sketches.items()}
    total = {key: float(one.bytes.sum()) for key, one in log.sketches.items()}
    steps = max(
        len(windows[key])
        for key in windows
        if calls[key] >= SHARE_MIN * sum(calls.values())
        or total[key] >= SHARE_MIN * sum(total.values())
    )
    return Timing(steps, _idle_s(log) / (steps + 1), windows)


def _idle_s(log: LogSketch) -> float:
    """Seconds in which no rank was in a call."""
    total = activity.joined([one.activity for one in log.sketches.values()])
    busy_s = float(total.busy().sum()) * total.width_s
    end_s = max(end for one in log.sketches.values() for _, end in one.windows.values())
    return max(log.duration_s, end_s) - min(busy_s, end_s)


def _episodes(one: Sketch) -> list[Window]:
    """By files that are used one after the other, else by gaps between calls. One episode if the
    bytes of several would differ much."""
    joined: list[list[float]] = []
    for begin, end in sorted(one.windows.values()):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        else:
            joined.append([begin, end])
    for found in (joined, _bursts(one)):
        if len(found) > 1 and _is_regular(one, found):
            return [(begin, end) for begin, end in found]
    return [(joined[0][0], joined[-1][1])]


def _bursts(one: Sketch) -> list[Window]:
    """The gaps between calls have two lengths: within steps, and between them."""
    width_s = one.activity.width_s
    runs = activity.runs(one.activity.busy())
    gaps = numpy.array([right[0] - left[1] for left, right in zip(runs, runs[1:], strict=False)])
    if len(gaps) == 0:
        return []
    lengths = numpy.sort(gaps)
    ratios = lengths / numpy.concatenate([[1], lengths[:-1]])
    if ratios.max() < GAP_RATIO:
        return []
    longest = lengths[ratios.argmax()]
    if gaps[gaps >= longest].sum() < GAPS_SHARE * (runs[-1][1] - runs[0][0]):
        return []
    found = [[runs[0][0], runs[0][1]]]
    for gap, (begin, end) in zip(gaps, runs[1:], strict=True):
        if gap >= longest:
            found.append([begin, end])
        found[-1][1] = end
    return [(begin * width_s, end * width_s) for begin, end in found]


def _is_regular(one: Sketch, found: list) -> bool:
    width_s = one.activity.width_s
    begins = [int(begin / width_s) for begin, _ in found]
    if len(set(begins)) < len(begins):
        return False  # shorter than the bins
    parts = numpy.add.reduceat(one.activity.bytes, numpy.minimum(begins, activity.BINS - 1))
    return float(parts.std()) <= IRREGULAR * float(parts.mean())
