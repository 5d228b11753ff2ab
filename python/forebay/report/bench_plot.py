# SPDX-License-Identifier: Apache-2.0
"""Results against goals in one picture, whatever their units: every value is divided by its goal.

A bar that ends left of the line has reached its goal. The true values stand beside the bars.
"""

from dataclasses import dataclass
from pathlib import Path

from forebay.report import style, units
from forebay.report.bench_table import goal_text, machine_line, title_of

AXIS_MIN = 1.6
AXIS_MAX = 3.0  # longer bars are cut and say so
ROW_IN = 0.62
VALUE_AT, GOAL_AT = 1.02, 1.19  # columns of text, in widths of the axis


@dataclass(frozen=True)
class Bar:
    """One result, relative to its goal: 1 is the goal, less is better."""

    name: str
    value: float
    low: float
    high: float
    met: bool
    value_text: str
    goal_text: str
    peers: list[tuple[str, float]]  # those in the result's own unit
    remark: str  # those in other units


def bars_of(document: dict) -> list[Bar]:
    """A bar for each result that has a goal other than 0."""
    return [_bar(row) for row in document["results"] if row["goal"]]


def relative(value: float, row: dict) -> float:
    """How far a value is from the goal, so that less is always better."""
    if row.get("better") == "higher":
        return row["goal"] / value if value else float("inf")
    return value / row["goal"]


def _bar(row: dict) -> Bar:
    ends = sorted(relative(end, row) for end in row["spread"])
    peers = {name: peer for name, peer in row["peers"].items() if isinstance(peer, dict)}
    same = [(name, peer) for name, peer in peers.items() if peer.get("unit") == row["unit"]]
    others = [(name, peer) for name, peer in peers.items() if peer.get("unit") != row["unit"]]
    return Bar(
        name=row["id"],
        value=relative(row["value"], row),
        low=ends[0],
        high=ends[1],
        met=row["met"],
        value_text=units.quantity(row["value"], row["unit"]),
        goal_text=goal_text(row),
        peers=[(name, relative(peer["value"], row)) for name, peer in same],
        remark=" · ".join(
            f"{name} {units.quantity(peer['value'], peer.get('unit', ''))}" for name, peer in others
        ),
    )


def draw_results(document: dict, file: Path) -> None:
    bars = bars_of(document)
    height_in = 1.9 + ROW_IN * max(1, len(bars))
    with style.picture(file, 10.4, height_in) as figure:
        axes = figure.add_subplot()
        limit = axis_limit(bars)
        for place, bar in enumerate(bars):
            _draw_bar(axes, place, bar, limit)
        _draw_frame(axes, bars, limit)
        axes.set_title(f"{title_of(document)}: results relative to their goals")
        style.footnote(figure, _footnote(document))


def axis_limit(bars: list[Bar]) -> float:
    longest = max((max(bar.value, bar.high) for bar in bars), default=0)
    return min(AXIS_MAX, max(AXIS_MIN, longest * 1.1))


def _draw_bar(axes, place: int, bar: Bar, limit: float) -> None:
    colour = style.FOREBAY if bar.met else style.VERMILION
    hatch = None if bar.met else "///"
    axes.barh(
        place,
        min(bar.value, limit),
        height=0.5,
        color=colour,
        edgecolor="white",
        linewidth=0,
        hatch=hatch,
        alpha=0.9,
    )
    ends = [min(bar.low, limit), min(bar.high, limit)]
    axes.plot(ends, [place, place], color=style.INK, linewidth=1.1, solid_capstyle="butt")
    axes.plot(ends, [place, place], "|", color=style.INK, markersize=7, markeredgewidth=1.1)
    for name, value in bar.peers:
        _draw_peer(axes, place, name, min(value, limit))
    _write_texts(axes, place, bar, limit)


def _draw_peer(axes, place: int, name: str, value: float) -> None:
    axes.plot(
        value, place, "D",
        markersize=6.5, color=style.PEER, markeredgecolor=style.INK, markeredgewidth=0.7,
    )  # fmt: skip
    axes.annotate(
        name, (value, place),
        xytext=(0, -13), textcoords="offset points", ha="center", fontsize=7.5, color=style.GREY,
    )  # fmt: skip


def _write_texts(axes, place: int, bar: Bar, limit: float) -> None:
    across = axes.get_yaxis_transform()  # x in shares of the axis, y in data
    cut = " →" if bar.value > limit else ""
    mark = "✓" if bar.met else "✗"
    text = f"{bar.value_text}{cut}"
    axes.text(VALUE_AT, place, text, transform=across, va="center", weight="bold")
    axes.text(
        GOAL_AT,
        place,
        f"{mark} {bar.goal_text}",
        transform=across,
        va="center",
        color=style.FOREBAY if bar.met else style.VERMILION,
    )
    if bar.remark:
        axes.text(
            -0.008, place + 0.36, bar.remark, transform=across, ha="right", va="center",
            fontsize=7.5, color=style.GREY,
        )  # fmt: skip


def _draw_frame(axes, bars: list[Bar], limit: float) -> None:
    axes.axvline(1, color=style.INK, linewidth=1.4, linestyle=(0, (4, 2)))
    axes.set_xlim(0, limit)
    axes.set_ylim(len(bars) - 0.4, -0.75)
    axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("value ÷ goal (left of the dashed line: reached)")
    across = axes.get_yaxis_transform()
    for at, text in ((VALUE_AT, "value"), (GOAL_AT, "goal")):
        axes.text(at, -0.75, text, transform=across, va="center", color=style.GREY, fontsize=8.5)


def _footnote(document: dict) -> str:
    kinds = {row.get("spread_kind") for row in document["results"]}
    spread = {"quartiles": "25–75 %", "range": "min–max"}
    shown = " or ".join(spread[kind] for kind in sorted(kinds & set(spread)))
    skipped = [row["id"] for row in document["results"] if not row["goal"]]
    without = f"\nWithout a goal, not drawn: {', '.join(skipped)}." if skipped else ""
    whisker = f"Whiskers: {shown} of the runs. " if shown else ""
    return f"{whisker}{machine_line(document['machine'])}.{without}"
