# SPDX-License-Identifier: Apache-2.0
"""Time of the demo, split into waiting and computing, for both readers, cold and warm."""

from pathlib import Path
from statistics import median

from forebay.comparison import setup_s
from forebay.report import style, units
from forebay.report.demo_tables import READER_NAMES

BAR_HEIGHT = 0.62
STATE_NAMES = {"cold": "from storage", "warm": "from the page cache"}


def draw_times(comparisons: list, file: Path) -> None:
    """Draws a list of comparison.Comparison of one snapshot."""
    with style.picture(file, 8.6, 1.5 + 1.25 * len(comparisons)) as figure:
        axes = figure.add_subplot()
        longest = max(max(one.times(reader)) for one in comparisons for reader in READER_NAMES)
        ticks = {}
        for group, comparison in enumerate(comparisons):
            for row, (reader, name) in enumerate(READER_NAMES.items()):
                place = group * 2.6 + row
                _draw_reader(axes, place, comparison, reader)
                ticks[place] = name
            _write_state(axes, group * 2.6, comparison)
        _draw_frame(axes, ticks, longest)
        axes.set_title(_title(comparisons))
        style.footnote(figure, _footnote(comparisons))


def _draw_reader(axes, place: float, comparison, reader: str) -> None:
    median_run = comparison.median_run(reader)
    left = 0.0
    for name, seconds, look in _parts(median_run):
        axes.barh(place, seconds, left=left, height=BAR_HEIGHT, label=name, **look)
        left += seconds
    times = comparison.times(reader)
    ends = [min(times), max(times)]
    axes.plot(ends, [place, place], "-|", color=style.INK, linewidth=1.1, markersize=8)
    memory = units.size(median(comparison.memory(reader)))
    axes.annotate(
        f"{units.duration(left)}, {memory}",
        (max(left, ends[1]), place),
        xytext=(8, 0), textcoords="offset points", va="center",
    )  # fmt: skip


def _parts(analysis: dict):
    waiting = {"color": style.ORANGE, "hatch": "///", "edgecolor": "white", "linewidth": 0}
    return (
        ("setup", setup_s(analysis), {"color": style.FAINT}),
        ("waiting for data or a core", analysis["times_s"]["waiting"], waiting),
        ("computing (CPU time)", analysis["times_s"]["computing_cpu"], {"color": style.BLUE}),
    )


def _write_state(axes, place: float, comparison) -> None:
    ratio = units.number(median(comparison.ratios()))
    axes.annotate(
        f"{STATE_NAMES[comparison.state]}: Forebay takes {ratio} of the time",
        (0, place - 0.55),
        xytext=(0, 3), textcoords="offset points", va="bottom", weight="bold", fontsize=9.5,
    )  # fmt: skip


def _draw_frame(axes, ticks: dict, longest: float) -> None:
    axes.set_yticks(list(ticks), list(ticks.values()))
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_ylim(max(ticks) + 0.6, -1.05)
    axes.set_xlim(0, longest * 1.32)
    axes.set_xlabel("seconds (median run; line: fastest to slowest; beside: memory)")
    handles, names = axes.get_legend_handles_labels()
    unique = dict(zip(names, handles, strict=True))
    axes.legend(
        unique.values(), unique.keys(), loc="lower right", bbox_to_anchor=(1, 1), ncols=3,
        fontsize=9, borderaxespad=0.2,
    )  # fmt: skip


def _title(comparisons: list) -> str:
    snapshot = comparisons[0].analyses["forebay"][0]["snapshot"]
    return f"Analysis of {units.size(snapshot['file_bytes'])}"


def _footnote(comparisons: list) -> str:
    one = comparisons[0].analyses["forebay"][0]
    pairs = ", ".join(f"{len(one.ratios())} {one.state}" for one in comparisons)
    return (
        f"{units.count(one['tasks'])} tasks on {one['threads']} threads; pairs in changing order: "
        f"{pairs}. Both readers give the same results to the last bit."
    )
