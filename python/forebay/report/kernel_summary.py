# SPDX-License-Identifier: Apache-2.0
"""The result of `forebay kernel run` in sentences, and all metrics as text."""

from forebay.kernel import metrics
from forebay.report import units

UNITS = (("_mb_s", "MB/s"), ("_s", "s"), ("_bytes", "B"), ("overhead", "%"))  # by ending
NAMES = {
    "blocked_s": "blocked by I/O, slowest rank",
    "total_s": "time of the application",
    "durable_s": "time until durable",
    "compute_s": "computation",
    "fill_s": "making the content",
    "overhead": "I/O overhead",
    "perceived_mb_s": "perceived bandwidth",
    "durable_mb_s": "durable bandwidth",
    "read_mb_s": "read bandwidth",
    "memory_max_bytes": "memory growth, largest rank",
    "memory_sum_bytes": "memory growth, all ranks",
    "staging_bytes": "staging memory, all ranks",
    "staging_over_plan": "staging memory / its bound",
} | {f"{phase}_s": f"{phase}, slowest rank of each step" for phase in metrics.PHASES}


def by_blocked_time(document: dict) -> dict[str, dict]:
    """metrics.summarize(), the backend that blocks the application least first."""
    summaries = metrics.summarize(document)
    order = sorted(summaries, key=lambda backend: summaries[backend]["blocked_s"]["value"])
    return {backend: summaries[backend] for backend in order}


def sentences(document: dict) -> list[str]:
    """The backend that blocks the application least, and of a kernel that writes the one that is
    durable first; each with its factors to the second and to the last one."""
    summaries = by_blocked_time(document)
    if not summaries:
        return ["No backend completed the kernel."]
    is_alone = len(summaries) == 1
    what = "blocked the application" if is_alone else "blocked the application least"
    found = [_compare(document, list(summaries), "blocked_s", what)]
    if all("perceived_mb_s" in one for one in summaries.values()):
        order = sorted(summaries, key=lambda one: summaries[one]["durable_s"]["value"])
        what = "had all bytes on storage" if is_alone else "had all bytes on storage first"
        found.append(_compare(document, order, "durable_s", what))
    return found


def _compare(document: dict, order: list[str], metric: str, what: str) -> str:
    """A sentence about the first of `order`, which a smaller value of `metric` ranks."""
    best = order[0]
    summary = metrics.summarize(document)[best][metric]
    factors = {
        other: metrics.summary(found)
        for other in dict.fromkeys(order[1:2] + order[-1:])
        if other != best and (found := metrics.ratios(document, other, best, metric))
    }
    rounds = units.items(summary["runs"], "round")
    parts = [f"{best} {what}: {spread_text(summary, 's')} in {rounds}"]
    parts += [f"{other} took {factor_text(one)}" for other, one in factors.items()]
    return f"{'; '.join(parts)}."


def factor_text(factor: dict) -> str:
    low, high = factor["spread"]
    text = f"{units.number(factor['value'])} times as long"
    text += f" ({units.number(low)} … {units.number(high)})"
    return f"{text}, no reliable difference" if low <= 1 <= high else text


def unit_of(metric: str) -> str:
    return next((unit for ending, unit in UNITS if metric.endswith(ending)), "1")


def name_of(metric: str) -> str:
    return NAMES.get(metric, metric.replace("_", " "))


def spread_text(summary: dict, unit: str) -> str:
    """The median, and its range in parentheses."""
    text, ends = quantity(summary["value"], unit), range_text(summary, unit)
    return f"{text} ({ends})" if ends else text


def range_text(summary: dict, unit: str) -> str:
    """The smallest and the largest value; empty if both are equal."""
    low, high = summary["spread"]
    if low == high:
        return ""
    first, last = quantity(low, unit), quantity(high, unit)
    is_same_unit = first.partition(" ")[2] == last.partition(" ")[2]
    return f"{first.partition(' ')[0] if is_same_unit else first} … {last}"


def quantity(value: float, unit: str) -> str:
    """A number of a metric; `unit` is a result of unit_of()."""
    if unit == "B":
        return units.size(value)
    if unit == "%":
        return f"{value:.1%}"
    is_count = unit == "1" and value == int(value)
    return units.count(int(value)) if is_count else units.quantity(value, unit)
