# SPDX-License-Identifier: Apache-2.0
"""Rows of benchmarks in Python. The form is that of bench/frame/results.hpp."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TypeVar

from forebay import native
from forebay.errors import ForebayError, SkippedError
from forebay.native import OnProgress

QUARTILES_FROM = 9  # samples; fewer have their range
RESERVE_BYTES = 256 << 20
Sample = TypeVar("Sample")


@dataclass(frozen=True)
class Goal:
    value: float
    better: str = "higher"

    def is_met(self, measured: float) -> bool:
        return measured >= self.value if self.better == "higher" else measured <= self.value


@dataclass(frozen=True)
class Setup:
    """How a benchmark is run."""

    storage: Path  # an empty directory
    effort: str  # "quick", "usual", "full"
    on_progress: OnProgress
    launcher: str | None = None
    ranks: int | None = None  # if the user chose them


@dataclass
class Results:
    """What a benchmark has measured so far."""

    only: set[str]  # ids to measure; empty: all
    rows: list[dict] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    parameters: dict = field(default_factory=dict)
    machine: dict = field(default_factory=dict)

    def is_selected(self, name: str) -> bool:
        return not self.only or name in self.only

    def add(self, name: str, unit: str, values: list[float], goal: Goal | None = None, peers=None):
        """`peers` is {name: (unit, values)}."""
        shown = {
            peer: summarize(samples) | {"unit": peer_unit}
            for peer, (peer_unit, samples) in (peers or {}).items()
        }
        row = {"id": name} | summarize(values) | {"unit": unit, "peers": shown}
        row |= {"goal": None, "better": None, "met": None}
        if goal is not None:
            met = goal.is_met(row["value"])
            row |= {"goal": goal.value, "better": goal.better, "met": met}
        self.rows.append(row)

    def skip(self, name: str, why: str) -> None:
        self.skipped[name] = why

    def run_groups(self, groups: dict[Callable[[], None], tuple[str, ...]]) -> None:
        """Calls each function whose rows are selected. Its rows are skipped if it raises
        `SkippedError`."""
        for add, names in groups.items():
            selected = list(filter(self.is_selected, names))
            try:
                if selected:
                    add()
            except SkippedError as why:
                for name in selected:
                    self.skip(name, str(why))


def summarize(values: list[float]) -> dict:
    """Median and spread: the range, or from nine samples on the quartiles."""
    import numpy

    low, middle, high = (float(one) for one in numpy.quantile(values, (0.25, 0.5, 0.75)))
    kind = "quartiles" if len(values) >= QUARTILES_FROM else "range"
    spread = [low, high] if kind == "quartiles" else [min(values), max(values)]
    return {"value": middle, "spread": spread, "spread_kind": kind, "runs": len(values)}


def worst_of(samples: list[list[float]], goal: Goal) -> list[float]:
    """The samples with the worst median."""
    return (min if goal.better == "higher" else max)(samples, key=median)


def ratios(over: list[float], under: list[float]) -> list[float]:
    """One ratio for each round."""
    return [one / other for one, other in zip(over, under, strict=True)]


def paired_rounds(
    name: str, variants: dict[str, Callable[[], Sample]], rounds: int, on_progress: OnProgress
) -> dict[str, list[Sample]]:
    """Samples of each variant. Each round has all of them, in alternating order, so that drift
    affects them alike. A warm-up round comes before. Progress is reported under `name`."""
    samples: dict[str, list[Sample]] = {variant: [] for variant in variants}
    names = list(variants)
    total = (rounds + 1) * len(names)
    for number in range(rounds + 1):
        first = number // 2 % len(names)
        order = [*names[first:], *names[:first]]
        for done, variant in enumerate(order[::-1] if number % 2 else order, number * len(names)):
            sample = variants[variant]()
            if number > 0:
                samples[variant].append(sample)
            on_progress(native.Progress(done + 1, total, "runs", name))
    return samples


def require_space(folder: Path, size: int) -> None:
    """Raises a ForebayError if `folder` has less space, and a reserve: a full disk affects all its
    users."""
    needed, free = size + RESERVE_BYTES, shutil.disk_usage(folder).free
    if free < needed:
        numbers = f"{needed >> 20} MiB are needed and {free >> 20} MiB are free"
        raise ForebayError(f"{folder}: {numbers}; free some or choose another directory with --dir")


def merge(document: dict, own: Results) -> dict:
    from forebay import __version__

    return document | {
        "version": document.get("version", __version__),
        "machine": document["machine"] or own.machine,
        "results": [*document["results"], *own.rows],
        "skipped": document["skipped"] | own.skipped,
        "parameters": document["parameters"] | own.parameters,
    }
