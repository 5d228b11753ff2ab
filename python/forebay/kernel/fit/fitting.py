# SPDX-License-Identifier: Apache-2.0
"""Fits a kernel to a log of a program."""

from dataclasses import dataclass
from pathlib import Path

from forebay import native
from forebay.errors import ForebayError
from forebay.kernel import run
from forebay.kernel.fit import (
    darshan_source,
    goodness,
    isolated,
    kernel_maker,
    offsets,
    steps,
    trace_source,
)
from forebay.kernel.fit.choice import Key
from forebay.kernel.fit.kernel_maker import Fitted
from forebay.kernel.fit.sketch import LogSketch
from forebay.kernel.kernel_file import Kernel
from forebay.native import OnProgress, Progress

SEEDS = 24
GOOD_ENOUGH = 0.05
CLASSES_NAMED = 3  # of those that are left out


@dataclass(frozen=True)
class Fit:
    """A kernel, with its goodness (`goodness.compare`) and what it leaves out."""

    kernel: Kernel
    goodness: dict
    warnings: list[str]
    source: str

    def document(self, file: str) -> dict:
        facts = {"kernel": file, "name": self.kernel.name, "source": self.source}
        facts |= {"writers": self.kernel.writers, "steps": self.kernel.steps}
        facts |= {"numbers": self.kernel.count_numbers(), "goodness": self.goodness}
        return facts | {"warnings": self.warnings}


def read_log(path: Path, layer: str | None, on_progress: OnProgress) -> LogSketch:
    """The sketch of a Darshan log or a Forebay trace."""
    try:
        if trace_source.is_trace(path):
            return trace_source.read(path, layer, on_progress)
        if darshan_source.is_log(path):
            return isolated.call(darshan_source.read, str(path), layer, on_progress=on_progress)
    except OSError as error:
        raise ForebayError(f"cannot read {path}: {error.strerror}; name a log") from None
    hint = "convert other logs with `forebay trace import`"
    raise ForebayError(f"{path} is neither a Darshan log nor a Forebay trace; {hint}")


def fit_log(path: Path, layer: str | None, on_progress: OnProgress) -> Fit:
    """`layer` is "posix", "mpiio" or None: the highest one whose calls have offsets."""
    native.find_program(run.PROGRAM)  # before long work
    log = read_log(path, layer, on_progress)
    timing = steps.find(log)
    on_progress(Progress(0, 0, "", "fitting"))
    made = kernel_maker.fit(log, timing, path.stem)
    if not made.document["operation"]:
        raise ForebayError(f"{path}: no operation fits in the numbers of a kernel")
    quality = _choose_seed(log, made, path, on_progress)
    warnings = log.warnings + _losses(log, timing, made)
    return Fit(made.kernel(str(path)), quality, warnings, log.source)


def _choose_seed(log: LogSketch, made: Fitted, path: Path, on_progress: OnProgress) -> dict:
    """Sets the seed whose draws are nearest to the log. Returns their goodness."""
    best = None
    for seed in range(1, SEEDS + 1):
        on_progress(Progress(seed, SEEDS, "seeds", "comparing draws"))
        made.document["seed"] = seed
        found = goodness.compare(log, made, run.draw(made.kernel(str(path)), log.ranks))
        error = goodness.worst(found)
        if best is None or error < best[0]:
            best = (error, seed, found)
        if error <= GOOD_ENOUGH:
            break
    made.document["seed"] = best[1]
    return best[2]


def _losses(log: LogSketch, timing: steps.Timing, made: Fitted) -> list[str]:
    """What the kernel does not repeat."""
    texts = []
    left_out = [key for key in log.sketches if key not in made.draws]
    if left_out:
        total = sum(one.bytes.sum() for one in log.sketches.values())
        share = sum(log.sketches[key].bytes.sum() for key in left_out) / total
        texts.append(f"left out, {share:.2%} of all bytes: {_listed(left_out)}")
    is_lost = offsets.is_pattern_lost
    kept = [key for key in made.draws if key not in made.strided]
    lost = [key for key in kept if log.has_order and is_lost(log.sketches[key])]
    if lost:
        texts.append(f"calls of a rank become consecutive in: {_listed(lost)}")
    uneven = [key for key in made.draws if timing.is_spread(key)]
    if uneven:
        texts.append(f"spread evenly over {timing.steps} steps: {_listed(uneven)}")
    if log.has_order and timing.steps > 1 and timing.compute_s > 0:
        texts.append("computation takes the same time before each step")
    return texts


def _listed(keys: list[Key]) -> str:
    """ "writes of fields_#.h#"."""
    names = [f"{do}s of {name.rpartition('/')[2] or name}" for name, do in keys]
    more = f" and {len(names) - CLASSES_NAMED} more" if len(names) > CLASSES_NAMED else ""
    return ", ".join(names[:CLASSES_NAMED]) + more
