# SPDX-License-Identifier: Apache-2.0
"""Time over the number of tasks, and the speed of a concurrent computation."""

from pathlib import Path

from forebay.many_tasks import TaskCountResult
from forebay.report import style, units

LOOKS = {
    "naive": {"color": style.PEER, "marker": "s", "label": "each task reads alone"},
    "forebay": {"color": style.FOREBAY, "marker": "o", "label": "Forebay"},
}
PERCENT = 100


def draw_tasks(parameters: dict, points: list[TaskCountResult], file: Path) -> None:
    """Plots two panels over one axis of tasks; `parameters` are those of the benchmark."""
    with style.picture(file, 9.6, 3.9) as figure:
        times, shares = figure.subplots(1, 2)
        for reader in LOOKS:
            _draw_line(times, points, reader, [point.times_s[reader] for point in points], 1)
            _draw_line(
                shares, points, reader, [point.computing[reader] for point in points], PERCENT
            )
        ranks = parameters["ranks"]
        times.set_title(f"{units.size(parameters['file_bytes'])} from storage")
        times.set_ylabel("seconds")
        shares.set_title("Computed meanwhile")
        shares.set_ylabel("% of its speed alone")
        shares.set_ylim(0, PERCENT)
        times.set_ylim(bottom=0)
        for axes in (times, shares):
            set_task_axis(axes, [point.tasks for point in points])
        times.legend(loc="lower left", fontsize=9)
        style.footnote(figure, _footnote(ranks, points))


def _draw_line(
    axes, points: list[TaskCountResult], reader: str, summaries: list[dict], factor: float
):
    tasks = [point.tasks for point in points]
    values = [one["value"] * factor for one in summaries]
    ends = [[end * factor for end in one["spread"]] for one in summaries]
    below = [max(0, value - low) for value, (low, _) in zip(values, ends, strict=True)]
    above = [max(0, high - value) for value, (_, high) in zip(values, ends, strict=True)]
    axes.errorbar(tasks, values, yerr=[below, above], capsize=3, elinewidth=1, **LOOKS[reader])


def set_task_axis(axes, counts: list[int]) -> None:
    """An axis with a mark at each number of tasks."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(counts, [str(count) for count in counts])
    axes.minorticks_off()
    # The last two marks are one power of two apart, too close for their digits.
    for label, side in zip(axes.get_xticklabels()[-2:], ("right", "left"), strict=False):
        label.set_horizontalalignment(side)
    axes.grid(axis="x", visible=False)
    axes.set_xlabel("tasks")


def _footnote(ranks: int, points: list[TaskCountResult]) -> str:
    one = points[0].over_naive
    where = f"On {ranks} ranks" if ranks > 1 else "In one process"
    return (
        f"{where}, dropped from the page cache before each of {one['runs']} runs in changing "
        "order; medians, whiskers: fastest to slowest.\n"
        "The computation runs between tasks, on their threads; alone: its fastest run."
    )
