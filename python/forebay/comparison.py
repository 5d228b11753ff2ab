# SPDX-License-Identifier: Apache-2.0
"""One analysis through two readers, in pairs and in changing order, with medians and spreads.

Absolute times drift on a shared machine. A ratio is taken within a pair, whose two runs are
adjacent in time.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from forebay.errors import ForebayError

READERS = ("ifstream", "forebay")
PAIRS_MIN = 3
PAIRS_MAX = 5
# Results that must have the same bits with both readers; otherwise one of the readers is wrong.
RESULTS = ("mass", "center_of_mass", "mean_velocity", "velocity_dispersion", "families", "profile")

Analyze = Callable[[str, str], dict]  # (reader, label of the progress) returns the analysis


@dataclass
class Comparison:
    """All runs of both readers, pair by pair."""

    cold: bool
    analyses: dict[str, list[dict]] = field(default_factory=lambda: {name: [] for name in READERS})

    @property
    def state(self) -> str:
        return "cold" if self.cold else "warm"

    def times(self, reader: str, part: str = "total") -> list[float]:
        return [one["times_s"][part] for one in self.analyses[reader]]

    def memory(self, reader: str) -> list[int]:
        return [one["memory"]["peak_pss_bytes"] for one in self.analyses[reader]]

    def ratios(self) -> list[float]:
        """Time through Forebay by time through std::ifstream, for each pair."""
        pairs = zip(self.times("forebay"), self.times("ifstream"), strict=True)
        return [ours / theirs for ours, theirs in pairs]

    def median_run(self, reader: str) -> dict:
        """The run whose total is the median (the faster of two in the middle)."""
        runs = sorted(self.analyses[reader], key=lambda one: one["times_s"]["total"])
        return runs[(len(runs) - 1) // 2]


def setup_s(analysis: dict) -> float:
    """Seconds before tasks run: opening the file and reading a sample of it."""
    times = analysis["times_s"]
    return max(0.0, times["total"] - times["waiting"] - times["computing_cpu"])


def compare(analyze: Analyze, cold: bool, limit_s: float) -> Comparison:
    """Runs at least PAIRS_MIN pairs, then more up to PAIRS_MAX until `limit_s` has passed."""
    result = Comparison(cold)
    start = time.monotonic()
    for pair in range(PAIRS_MAX):
        if pair >= PAIRS_MIN and time.monotonic() - start > limit_s:
            break
        for reader in pair_order(pair):
            label = f"{result.state}, pair {pair + 1}, {reader}: "
            result.analyses[reader].append(analyze(reader, label))
        require_same(*(result.analyses[reader][-1] for reader in READERS))
    return result


def pair_order(pair: int) -> tuple[str, ...]:
    """A B | B A | B A | A B: drift affects both alike."""
    return READERS if pair % 4 in (0, 3) else READERS[::-1]


def require_same(one: dict, other: dict) -> None:
    """Raises if two analyses of one file differ anywhere, even in the last bit."""
    for name in RESULTS:
        if one[name] != other[name]:
            raise ForebayError(
                f"{one['source']} and {other['source']} disagree on {name.replace('_', ' ')}: "
                f"{one[name]} and {other[name]}; this is a bug, please report it"
            )


def summary(samples: list[float]) -> dict:
    """Median and range, in the form that benchmarks use."""
    return {
        "value": statistics.median(samples),
        "spread": [min(samples), max(samples)],
        "spread_kind": "range",
        "runs": len(samples),
    }


def to_document(comparison: Comparison) -> dict:
    """The results of a comparison, as JSON."""
    ratios = comparison.ratios()
    faster = sum(ratio < 1 for ratio in ratios)
    document = {"over_ifstream": {**summary(ratios), "unit": "1", "pairs_faster": faster}}
    for reader in READERS:
        document[reader] = {
            "total_s": summary(comparison.times(reader)),
            "first_look_s": summary([setup_s(one) for one in comparison.analyses[reader]]),
            "waiting_s": summary(comparison.times(reader, "waiting")),
            "computing_cpu_s": summary(comparison.times(reader, "computing_cpu")),
            "first_particle_s": summary(comparison.times(reader, "first_particle")),
            "peak_pss_bytes": summary(comparison.memory(reader)),
        }
    return document
