# SPDX-License-Identifier: Apache-2.0
"""When calls were made: counts in bins of time. Their width doubles when a time exceeds them, so
a log of any length needs the same memory."""

import numpy

BINS = 8192
FIRST_WIDTH_S = 1e-5


class Activity:
    """Begins, ends and bytes of calls, in BINS bins from time 0."""

    def __init__(self):
        self.width_s = FIRST_WIDTH_S
        self.begins = numpy.zeros(BINS)
        self.ends = numpy.zeros(BINS)
        self.bytes = numpy.zeros(BINS)

    def add(self, begins_s: numpy.ndarray, ends_s: numpy.ndarray, sizes: numpy.ndarray) -> None:
        self.widen(self._width_for(float(ends_s.max())))
        first, last = self._bins(begins_s), self._bins(ends_s)
        numpy.add.at(self.begins, first, 1)
        numpy.add.at(self.ends, numpy.maximum(first, last), 1)
        numpy.add.at(self.bytes, first, sizes)

    def _width_for(self, end_s: float) -> float:
        width = self.width_s
        while end_s >= BINS * width:
            width *= 2
        return width

    def _bins(self, times_s: numpy.ndarray) -> numpy.ndarray:
        return numpy.clip(times_s / self.width_s, 0, BINS - 1).astype(int)

    def widen(self, width_s: float) -> None:
        """Joins pairs of bins until they have this width."""
        while self.width_s < width_s:
            for one in (self.begins, self.ends, self.bytes):
                one[: BINS // 2] = one.reshape(-1, 2).sum(axis=1)
                one[BINS // 2 :] = 0
            self.width_s *= 2

    def busy(self) -> numpy.ndarray:
        """Whether a call was in progress in each bin."""
        running = numpy.cumsum(self.begins) - numpy.concatenate([[0], numpy.cumsum(self.ends)[:-1]])
        return running > 0


def joined(activities: list[Activity]) -> Activity:
    """All calls together. The arguments get equal widths."""
    total = Activity()
    total.widen(max((one.width_s for one in activities), default=FIRST_WIDTH_S))
    for one in activities:
        one.widen(total.width_s)
        total.begins += one.begins
        total.ends += one.ends
        total.bytes += one.bytes
    return total


def runs(flags: numpy.ndarray) -> list[tuple[int, int]]:
    """Half-open ranges of bins that are set."""
    edges = numpy.flatnonzero(numpy.diff(numpy.concatenate([[0], flags.astype(int), [0]])))
    return [(int(begin), int(end)) for begin, end in zip(edges[::2], edges[1::2], strict=True)]
