# SPDX-License-Identifier: Apache-2.0
"""What is kept of a log: a sketch for each file class and direction, of bounded size.

A file class is the names that are equal after each run of digits is replaced by `#`.
"""

import re
from dataclasses import dataclass, field

import numpy

from forebay.kernel.fit.activity import Activity

CLASSES_MAX = 256
OTHER_FILES = "other files"
SIZES_MAX = 1 << 16  # different sizes of a sketch that are counted exactly
COARSE_BITS = 6  # of a size beyond them that is kept
WINDOWS_MAX = 1 << 16  # files of a sketch
RANKS_MAX = 1 << 20
NO_RUN = -1  # calls of a rank whose offsets have no rule


def class_of(name: str) -> str:
    return re.sub(r"\d+", "#", name)


class SizeCounts:
    """Calls of each size. Beyond SIZES_MAX sizes, further ones lose their low bits."""

    def __init__(self):
        self.counts: dict[int, int] = {}
        self.is_coarse = False

    def add(self, size: int, count: int) -> None:
        if size not in self.counts and len(self.counts) >= SIZES_MAX:
            self.is_coarse = True
            shift = max(size.bit_length() - COARSE_BITS, 0)
            size = size >> shift << shift
        self.counts[size] = self.counts.get(size, 0) + count

    def arrays(self) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Ascending sizes, and their calls."""
        ordered = sorted(self.counts.items())
        sizes, counts = zip(*ordered, strict=True) if ordered else ((), ())
        return numpy.array(sizes, float), numpy.array(counts, float)


@dataclass(frozen=True)
class Calls:
    """Calls of one rank to one file in one direction, in the order of time. An offset below 0 is
    unknown."""

    rank: int
    file: object  # identifies the file
    offsets: numpy.ndarray
    sizes: numpy.ndarray
    begins_s: numpy.ndarray
    ends_s: numpy.ndarray


@dataclass
class Sketch:
    """The calls of one file class and direction."""

    name: str
    do: str  # "read" or "write"
    sizes: SizeCounts = field(default_factory=SizeCounts)
    activity: Activity = field(default_factory=Activity)
    # file: [begin, end] in seconds; more than WINDOWS_MAX files share the last one
    windows: dict = field(default_factory=dict)
    # By rank. The frequent size is the one with most votes (Boyer, Moore); at least
    # `frequent_calls` calls have it.
    by_rank: numpy.ndarray = field(default_factory=lambda: numpy.zeros(0, RANK_FIELDS))

    @property
    def calls(self) -> numpy.ndarray:
        return self.by_rank["calls"]

    @property
    def bytes(self) -> numpy.ndarray:
        return self.by_rank["bytes"]

    def grow(self, ranks: int) -> None:
        missing = ranks - len(self.by_rank)
        if missing > 0:
            missing = max(missing, len(self.by_rank) // 2)
            self.by_rank = numpy.concatenate([self.by_rank, numpy.zeros(missing, RANK_FIELDS)])

    def add(self, calls: Calls) -> None:
        self.grow(calls.rank + 1)
        sizes, counts = numpy.unique(calls.sizes, return_counts=True)
        for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
            self.sizes.add(size, count)
        row = self.by_rank[calls.rank : calls.rank + 1]
        row["calls"] += len(calls.sizes)
        row["bytes"] += int(calls.sizes.sum())
        best = counts.argmax()
        _vote(row, sizes[best], counts[best], 2 * counts[best] - len(calls.sizes))
        _add_run(row, calls)
        self.activity.add(calls.begins_s, calls.ends_s, calls.sizes)
        self.add_window(calls.file, calls.begins_s[0], calls.ends_s.max())

    def add_window(self, file, begin_s: float, end_s: float) -> None:
        key = file if file in self.windows or len(self.windows) < WINDOWS_MAX else OTHER_FILES
        window = self.windows.setdefault(key, [begin_s, end_s])
        window[0], window[1] = min(window[0], begin_s), max(window[1], end_s)


RANK_FIELDS = [
    *((name, "i8") for name in ("calls", "bytes", "frequent_size", "frequent_calls", "votes")),
    # The run of a rank: `run_calls` calls of `run_size` bytes from `run_begin`, `run_stride` apart.
    *((name, "i8") for name in ("run_calls", "run_begin", "run_stride", "run_size")),
]


def _vote(row, size: int, count: int, votes: int) -> None:
    """Keeps the size with more than half of all calls, if there is one."""
    if row["frequent_size"][0] == size or row["votes"][0] == 0:
        is_new = row["frequent_size"][0] != size
        row["frequent_calls"] = count if is_new else row["frequent_calls"] + count
        row["frequent_size"], row["votes"] = size, max(row["votes"][0] + votes, 1)
    elif votes >= row["votes"][0]:
        row["frequent_size"], row["frequent_calls"] = size, count
        row["votes"] = votes - row["votes"][0]
    else:
        row["votes"] -= max(votes, 1)


def _add_run(row, calls: Calls) -> None:
    """Each file of a rank must have the same run."""
    strides = numpy.diff(calls.offsets)
    is_run = calls.offsets[0] >= 0 and (calls.sizes == calls.sizes[0]).all()
    is_run = is_run and (strides == strides[:1]).all() and (strides > 0).all()
    stride = strides[0] if len(strides) else 0
    run = (len(calls.sizes), calls.offsets[0], stride, calls.sizes[0]) if is_run else (NO_RUN,) * 4
    old = row[["run_calls", "run_begin", "run_stride", "run_size"]][0].tolist()
    if old[0] != 0 and old != tuple(run):
        run = (NO_RUN,) * 4
    row["run_calls"], row["run_begin"], row["run_stride"], row["run_size"] = run


@dataclass
class LogSketch:
    """All sketches of a log, by file class and direction."""

    source: str  # where the calls are from: "DXT_MPIIO"
    ranks: int = 0
    duration_s: float = 0  # of the program; 0: until its last call
    has_order: bool = True  # whether calls have offsets and times
    warnings: list[str] = field(default_factory=list)
    sketches: dict[tuple[str, str], Sketch] = field(default_factory=dict)
    empty_calls: int = 0

    def sketch(self, file_name: str, do: str) -> Sketch:
        name = class_of(file_name)
        if (name, do) not in self.sketches and len(self.sketches) >= CLASSES_MAX:
            name = OTHER_FILES
        return self.sketches.setdefault((name, do), Sketch(name, do))

    def add(self, file_name: str, do: str, calls: Calls) -> None:
        """Leaves out calls of 0 bytes, which are counted."""
        kept = calls.sizes > 0
        self.empty_calls += int((~kept).sum())
        if not kept.all():
            columns = (calls.offsets, calls.sizes, calls.begins_s, calls.ends_s)
            calls = Calls(calls.rank, calls.file, *(one[kept] for one in columns))
        if len(calls.sizes):
            self.ranks = max(self.ranks, calls.rank + 1)
            self.sketch(file_name, do).add(calls)

    def finish(self) -> None:
        """All sketches get the number of ranks, and the log its warnings."""
        for one in self.sketches.values():
            one.grow(self.ranks)
            one.by_rank = one.by_rank[: self.ranks]
        if self.empty_calls:
            self.warnings.append(f"{self.empty_calls} calls of 0 bytes are left out")
        if any(one.sizes.is_coarse for one in self.sketches.values()):
            self.warnings.append(f"sizes beyond the first {SIZES_MAX} of a class are rounded")
        if any(name == OTHER_FILES for name, _ in self.sketches):
            self.warnings.append(f"file classes beyond {CLASSES_MAX} are one class")
