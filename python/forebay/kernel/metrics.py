# SPDX-License-Identifier: Apache-2.0
"""Metrics of runs of a kernel: pure functions of the document of forebay.kernel.run.

Times are those of the slowest rank, bandwidths in 10^6 bytes a second. A value over several rounds
is the median, with the smallest and the largest.
"""

from statistics import median

PHASES = ("open", "write", "close", "read")
WRITING = ("open", "write", "close")
MEGABYTE = 1e6
# With more computation, writing overlaps it, and bytes / time is no bandwidth of storage.
COMPUTE_SHARE_MAX = 0.1


def phase_s(run: dict, phase: str) -> float:
    """Seconds of the slowest rank of each step, summed over steps."""
    return sum(max(step) for step in run["phases"][phase])


def blocked_s(run: dict, phases: tuple[str, ...] = PHASES) -> float:
    """Seconds for which the application of the slowest rank could not continue."""
    ranks = range(run["ranks"])
    return max(
        sum(step[rank] for phase in phases for step in run["phases"][phase]) for rank in ranks
    )


def overhead(run: dict) -> float:
    """Share of the time of the application in which it was blocked by I/O."""
    return blocked_s(run) / run["total_s"] if run["total_s"] > 0 else 0.0


def imbalance(run: dict) -> float:
    """Largest bytes of a rank in a step / average of the ranks, the median over steps."""
    steps = [step for step in run["step_bytes"] if any(step)]
    return median(max(step) * len(step) / sum(step) for step in steps) if steps else 0.0


def values_of(run: dict) -> dict[str, float]:
    """All metrics of one run. A bandwidth without bytes or time is absent."""
    blocked = blocked_s(run)
    values = {f"{phase}_s": phase_s(run, phase) for phase in PHASES}
    values |= {
        "compute_s": phase_s(run, "compute"),
        "blocked_s": blocked,
        "total_s": run["total_s"],
        "durable_s": run["durable_s"],
        "overhead": overhead(run),
        "files": run["files"],
        "memory_max_bytes": run["memory_max_bytes"],
        "memory_sum_bytes": run["memory_sum_bytes"],
        "staging_bytes": run["staging_bytes"],
        "staging_over_plan": run["staging_over_plan"],
        "fill_s": run["fill_s"],
    }
    if run["written_bytes"]:
        written = run["written_bytes"] / MEGABYTE
        _add_rate(values, "perceived_mb_s", written, blocked_s(run, WRITING))
        if values["compute_s"] < COMPUTE_SHARE_MAX * run["durable_s"]:
            _add_rate(values, "durable_mb_s", written, run["durable_s"] - values["read_s"])
    if run["read_bytes"]:
        _add_rate(values, "read_mb_s", run["read_bytes"] / MEGABYTE, values["read_s"])
    return values


def _add_rate(values: dict[str, float], name: str, megabytes: float, seconds: float) -> None:
    if seconds > 0:
        values[name] = megabytes / seconds


def summarize(document: dict) -> dict[str, dict[str, dict]]:
    """{backend: {metric: {"value","spread","runs"}}}, in the order of the command line."""
    by_backend: dict[str, list[dict]] = {name: [] for name in document["backends"]}
    for run in document["runs"]:
        by_backend.setdefault(run["backend"], []).append(values_of(run))
    return {
        backend: {
            metric: summary([one[metric] for one in runs])
            for metric in runs[0]
            if all(metric in one for one in runs)
        }
        for backend, runs in by_backend.items()
        if runs
    }


def summary(values: list[float]) -> dict:
    return {"value": median(values), "spread": [min(values), max(values)], "runs": len(values)}


def ratios(document: dict, over: str, under: str, metric: str) -> list[float]:
    """One for each round; empty if a backend failed."""
    rounds: dict[str, dict[int, float]] = {over: {}, under: {}}
    for run in document["runs"]:
        if run["backend"] in rounds:
            rounds[run["backend"]][run["round"]] = values_of(run)[metric]
    return [
        value / rounds[under][number]
        for number, value in rounds[over].items()
        if rounds[under].get(number)
    ]
