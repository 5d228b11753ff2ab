# SPDX-License-Identifier: Apache-2.0
"""The gain of overlap over compute time / write time: a line for each number of buffers, with a
band if times vary, and the requested point.
"""

from pathlib import Path

from forebay.report import style, units
from forebay.report.gain_tables import buffers_text

# From one buffer to unlimited. Both ends of every set of curves look the same in all plots.
LOOKS = (
    {"color": style.GREY, "linestyle": "-"},
    {"color": style.BLUE, "linestyle": "-"},
    {"color": style.VERMILION, "linestyle": (0, (5, 1.5))},
    {"color": style.GREEN, "linestyle": (0, (1.5, 1.2))},
    {"color": style.SKY, "linestyle": (0, (6, 1.5, 1.5, 1.5))},
)
HINT = {"fontsize": 8.5, "color": style.GREY}
# Curves that differ nowhere by more than this share are one line in the plot.
EQUAL_CURVE_GAIN = 0.004


def draw_gain(document: dict, file: Path) -> None:
    with style.picture(file, 9.6, 4.8) as figure:
        axes = figure.subplots()
        _set_axes(axes, document)
        _draw_bound(axes, document)
        for curves, line_style in zip(group_equal_curves(document["curves"]), LOOKS, strict=False):
            _draw_curve(axes, curves, line_style)
            if document["buffers"] in [curve["buffers"] for curve in curves]:
                _draw_band(axes, curves, line_style)
        _mark_question(axes, document)
        _add_legend(axes)
        style.footnote(figure, _footnote(document))


def _add_legend(axes) -> None:
    """Places the legend where curves are low: at large ratios. Lists lines from top to bottom."""
    handles, labels = axes.get_legend_handles_labels()
    legend = axes.legend(handles[::-1], labels[::-1], loc="upper right", fontsize=9, frameon=True)
    legend.get_frame().set(facecolor="white", edgecolor="none", alpha=1)


def group_equal_curves(curves: list[dict]) -> list[list[dict]]:
    """Groups of curves that look alike. More buffers never gain less, so only adjacent curves are
    compared."""
    groups: list[list[dict]] = []
    for curve in curves:
        if groups and _max_difference(groups[-1][0], curve) <= EQUAL_CURVE_GAIN:
            groups[-1].append(curve)
        else:
            groups.append([curve])
    return groups


def _max_difference(one: dict, other: dict) -> float:
    pairs = zip(one["points"], other["points"], strict=True)
    return max(abs(a["gain"]["mean"] / b["gain"]["mean"] - 1) for a, b in pairs)


def _draw_curve(axes, curves: list[dict], line_style: dict) -> None:
    points = curves[-1]["points"]
    ratios = [point["ratio"] for point in points]
    axes.plot(
        ratios, [point["gain"]["mean"] for point in points], label=label_of(curves), **line_style
    )


def _draw_band(axes, curves: list[dict], line_style: dict) -> None:
    """Draws the band of the requested buffers only, as bands of all lines would hide each other.
    Without jitter it has no height."""
    points = curves[-1]["points"]
    axes.fill_between(
        [point["ratio"] for point in points],
        [point["gain"]["low"] for point in points],
        [point["gain"]["high"] for point in points],
        color=line_style["color"],
        alpha=0.25,
        linewidth=0,
        zorder=1.6,
    )


def label_of(curves: list[dict]) -> str:
    """The label of a group: "2, 4 or unlimited buffers"."""
    *first, last = [_buffers_label(curve["buffers"]) for curve in curves]
    if not first:
        return buffers_text(curves[0]["buffers"])
    return f"{', '.join(first)} or {last} buffers"


def _buffers_label(buffers: int | None) -> str:
    return "unlimited" if buffers is None else units.count(buffers)


def _draw_bound(axes, document: dict) -> None:
    ratios = [point["ratio"] for point in document["curves"][0]["points"]]
    label = "bound, without jitter" if document["jitter"] else "bound"
    bounds = [(1 + ratio) / max(ratio, 1 / document["devices"]) for ratio in ratios]
    axes.plot(ratios, bounds, color=style.FAINT, linewidth=5, zorder=1.5, label=label)


def _mark_question(axes, document: dict) -> None:
    """Marks the requested point with a ring, unless its ratio is not on the axis."""
    low, high = axes.get_xlim()
    if document["write_s"] == 0 or not low <= document["compute_s"] / document["write_s"] <= high:
        return
    gain = document["requested"]["gain"]["mean"]
    axes.plot(
        document["compute_s"] / document["write_s"],
        gain,
        "o",
        markersize=9,
        color=style.INK,
        markerfacecolor="white",
        zorder=5,
        clip_on=False,
        label=f"requested: {buffers_text(document['buffers'])}, gain {units.number(gain)}",
    )


def _set_axes(axes, document: dict) -> None:
    ratios = [point["ratio"] for point in document["curves"][0]["points"]]
    axes.set_xscale("log")
    axes.set_xlim(min(ratios), max(ratios))
    ticks = [tick for tick in _ticks() if min(ratios) * 0.999 <= tick <= max(ratios) * 1.001]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("C / W: time to compute a buffer / time to write it")
    for place, text in ((0, "← writing takes longer"), (1, "computing takes longer →")):
        side = "right" if place else "left"
        axes.text(place, -0.115, text, transform=axes.transAxes, ha=side, va="top", **HINT)
    axes.set_ylabel("gain: synchronous time / time")
    devices = document["devices"]
    where = "one device" if devices == 1 else f"{units.count(devices)} devices"
    axes.set_title(f"Gain of overlap on {where}")


def _ticks() -> list[float]:
    return [digit * 10.0**power for power in range(-3, 3) for digit in (1, 3)]


def _footnote(document: dict) -> str:
    text = f"{units.count(document['count'])} buffers are written. "
    jitter = document["jitter"]
    if not jitter:
        return text + "Computed by formula: all computations and all writes take equally long."
    return text + (
        f"Log-normal times, standard deviation / mean {jitter['write']:g} of writes and "
        f"{jitter['compute']:g} of computations.\n"
        f"Lines: means of {jitter['runs']} runs of seed {jitter['seed']}. Band, of the "
        "requested buffers: from the 5 % to the 95 % quantile of the runs."
    )
