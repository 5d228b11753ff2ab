# SPDX-License-Identifier: Apache-2.0
"""Rows of benchmarks in Python. The form is that of bench/frame/results.hpp."""

from dataclasses import dataclass, field
from pathlib import Path

from forebay.native import OnProgress

QUARTILES_FROM = 9  # samples; fewer have their range


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


def summarize(values: list[float]) -> dict:
    """Median and spread: the range, or from nine samples on the quartiles."""
    import numpy

    low, middle, high = (float(one) for one in numpy.quantile(values, (0.25, 0.5, 0.75)))
    kind = "quartiles" if len(values) >= QUARTILES_FROM else "range"
    spread = [low, high] if kind == "quartiles" else [min(values), max(values)]
    return {"value": middle, "spread": spread, "spread_kind": kind, "runs": len(values)}


def merge(document: dict, own: Results) -> dict:
    from forebay import __version__

    return document | {
        "version": document.get("version", __version__),
        "machine": document["machine"] or own.machine,
        "results": [*document["results"], *own.rows],
        "skipped": document["skipped"] | own.skipped,
        "parameters": document["parameters"] | own.parameters,
    }
