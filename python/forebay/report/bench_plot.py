# SPDX-License-Identifier: Apache-2.0
"""Results relative to their goals in one plot, whatever their units.

A bar that ends left of the line has reached its goal. The values themselves stand beside the bars.
"""

from dataclasses import dataclass
from pathlib import Path

from forebay.report import style, units
from forebay.report.bench_table import goal_text, machine_line, peer_text, title_of

REMARK_MAX = 48  # characters below a name
AXIS_MIN = 1.6
AXIS_MAX = 3.0  # longer bars are cut and marked
ROW_IN = 0.62
VALUE_AT = 10  # start of the column of values, right of the axis, in points
CHARACTER_POINTS = 7.2  # width of a bold character, in points


@dataclass(frozen=True)
class Bar:
    """One result, relative to its goal: 1 is the goal, smaller is better."""

    name: str
    value: float
    low: float
    high: float
    met: bool
    value_text: str
    goal_text: str
    peers: list[float]  # peers in the unit of the result, relative to the goal
    remark: str  # all peers, with their values


def bars_of(document: dict) -> list[Bar]:
    """A bar for each result that has a goal other than 0."""
    return [_bar(row) for row in document["results"] if row["goal"]]


def relative(value: float, row: dict) -> float:
    """A value relative to its goal, so that smaller is always better."""
    if row.get("better") == "higher":
        return row["goal"] / value if value else float("inf")
    return value / row["goal"]


def _bar(row: dict) -> Bar:
    ends = sorted(relative(end, row) for end in row["spread"])
    peers = {name: peer for name, peer in row["peers"].items() if isinstance(peer, dict)}
    same = [peer["value"] for peer in peers.values() if peer.get("unit") == row["unit"]]
    return Bar(
        name=row["id"],
        value=relative(row["value"], row),
        low=ends[0],
        high=ends[1],
        met=row["met"],
        value_text=units.quantity(row["value"], row["unit"]),
        goal_text=goal_text(row),
        peers=[relative(value, row) for value in same],
        remark=remark_of(row["peers"]),
    )


def remark_of(peers: dict) -> str:
    """The first peers that fit, and the number of further ones."""
    texts = [peer_text(name, peer) for name, peer in peers.items()]
    shown = texts[:1]
    for text in texts[1:]:
        if len(" · ".join([*shown, text])) > REMARK_MAX:
            break
        shown.append(text)
    more = [f"{len(texts) - len(shown)} more"] if len(shown) < len(texts) else []
    return " · ".join(shown + more)


def draw_results(document: dict, file: Path) -> None:
    bars = bars_of(document)
    height_in = 1.9 + ROW_IN * max(1, len(bars))
    with style.picture(file, 11, height_in) as figure:
        axes = figure.add_subplot()
        limit = axis_limit(bars)
        _draw_frame(axes, bars, limit)
        for place, bar in enumerate(bars):
            _draw_bar(axes, place, bar, limit)
            _draw_peers(axes, place, bar, limit)
        _write_columns(axes, bars)
        axes.set_title(f"{title_of(document)}: results relative to their goals")
        style.footnote(figure, _footnote(document))


def axis_limit(bars: list[Bar]) -> float:
    longest = max((max(bar.value, bar.high) for bar in bars), default=0)
    return min(AXIS_MAX, max(AXIS_MIN, longest * 1.1))


def _draw_bar(axes, place: int, bar: Bar, limit: float) -> None:
    color = style.FOREBAY if bar.met else style.VERMILION
    hatch = None if bar.met else "///"
    axes.barh(
        place,
        min(bar.value, limit),
        height=0.5,
        color=color,
        edgecolor="white",
        linewidth=0,
        hatch=hatch,
        alpha=0.9,
    )
    if bar.value > limit:
        axes.plot(limit, place, ">", color=style.INK, markersize=8, clip_on=False)
    ends = [min(bar.low, limit), min(bar.high, limit)]
    axes.plot(ends, [place, place], color=style.INK, linewidth=1.1, solid_capstyle="butt")
    axes.plot(ends, [place, place], "|", color=style.INK, markersize=7, markeredgewidth=1.1)


def _draw_peers(axes, place: int, bar: Bar, limit: float) -> None:
    near = [value for value in bar.peers if value <= limit]
    axes.plot(
        near, [place] * len(near), "D",
        markersize=6.5, color=style.PEER, markeredgecolor=style.INK, markeredgewidth=0.7,
    )  # fmt: skip


def _write_columns(axes, bars: list[Bar]) -> None:
    longest = max((len(bar.value_text) for bar in bars), default=0)
    goal_at = VALUE_AT + CHARACTER_POINTS * max(longest + 2, 8)
    heading = {"color": style.GREY, "fontsize": 8.5}
    _write_beside(axes, -0.75, VALUE_AT, "value", **heading)
    _write_beside(axes, -0.75, goal_at, "goal", **heading)
    for place, bar in enumerate(bars):
        goal = f"{'✓' if bar.met else '✗'} {bar.goal_text}"
        _write_beside(axes, place, VALUE_AT, bar.value_text, weight="bold")
        _write_beside(
            axes, place, goal_at, goal, color=style.FOREBAY if bar.met else style.VERMILION
        )
        axes.annotate(
            bar.remark, (0, place + 0.36),
            xycoords=axes.get_yaxis_transform(), xytext=(-4, 0), textcoords="offset points",
            ha="right", va="center", fontsize=7.5, color=style.GREY,
        )  # fmt: skip


def _write_beside(axes, place: float, offset_points: float, text: str, **look) -> None:
    """Text right of the axis, beside a row."""
    axes.annotate(
        text, (1, place),
        xycoords=axes.get_yaxis_transform(), xytext=(offset_points, 0),
        textcoords="offset points", va="center", **look,
    )  # fmt: skip


def _draw_frame(axes, bars: list[Bar], limit: float) -> None:
    axes.axvline(1, color=style.INK, linewidth=1.4, linestyle=(0, (4, 2)))
    axes.set_xlim(0, limit)
    axes.set_ylim(len(bars) - 0.4, -0.75)
    axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("value ÷ goal (left of the dashed line: reached)")


def _footnote(document: dict) -> str:
    kinds = {row.get("spread_kind") for row in document["results"]}
    spread = {"quartiles": "25–75 %", "range": "min–max"}
    shown = " or ".join(spread[kind] for kind in sorted(kinds & set(spread)))
    skipped = [row["id"] for row in document["results"] if not row["goal"]]
    without = f"\nWithout a goal, not drawn: {', '.join(skipped)}." if skipped else ""
    whisker = f"Whiskers: {shown} of the runs. " if shown else ""
    if any(bar.peers for bar in bars_of(document)):
        whisker += "Diamonds: peers named at the left that have the same unit.\n"
    return f"{whisker}{machine_line(document['machine'])}.{without}"
