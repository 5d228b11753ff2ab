# SPDX-License-Identifier: Apache-2.0
"""The measured gain of writing behind over compute time / write time, and the model's gain for the
same runs, for each kind of storage.
"""

from pathlib import Path

from forebay.report import style
from forebay.report.bench_table import machine_line, title_of

CURVES = "engine.gain.curve"
LOOKS = ((style.FOREBAY, "o"), (style.VERMILION, "s"), (style.GREEN, "D"))


def has_curves(document: dict) -> bool:
    return bool(document.get("parameters", {}).get(CURVES))


def draw_overlap(document: dict, file: Path) -> None:
    curves = document["parameters"][CURVES]
    with style.picture(file, 9.6, 5) as figure:
        axes = figure.subplots()
        for (name, points), line_style in zip(curves.items(), LOOKS, strict=False):
            _draw_curve(axes, name, points, line_style)
        _set_axes(axes, curves)
        axes.legend(loc="upper right", fontsize=9)
        style.footnote(figure, _footnote(document))
        axes.set_title(f"{title_of(document)}: gain of writing behind")


def _draw_curve(axes, name: str, points: list[dict], line_style: tuple[str, str]) -> None:
    color, marker = line_style
    ordered = sorted(points, key=lambda point: point["ratio"])
    ratios = [point["ratio"] for point in ordered]
    gains = [point["gain"] for point in ordered]
    below = [point["gain"] - point["gain_low"] for point in ordered]
    above = [point["gain_high"] - point["gain"] for point in ordered]
    axes.plot(
        ratios,
        [point["model"] for point in ordered],
        color=color,
        linewidth=1.2,
        linestyle=(0, (4, 2)),
        label=f"{name}: model",
    )
    axes.errorbar(
        ratios,
        gains,
        yerr=(below, above),
        color=color,
        marker=marker,
        markersize=6,
        linestyle="none",
        elinewidth=1.1,
        capsize=2.5,
        label=f"{name}: measured",
    )


def _set_axes(axes, curves: dict) -> None:
    ratios = [point["ratio"] for points in curves.values() for point in points]
    axes.set_xscale("log")
    axes.set_xlim(min(ratios) / 1.3, max(ratios) * 1.3)
    ticks = [tick for tick in _ticks() if min(ratios) / 1.3 <= tick <= max(ratios) * 1.3]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.axhline(1, color=style.FAINT, linewidth=1.2)
    axes.set_ylim(bottom=min(0.9, axes.get_ylim()[0]))
    axes.set_xlabel("C / W: time to compute a buffer / time to write it")
    axes.set_ylabel("gain: synchronous time / time")


def _ticks() -> list[float]:
    return [digit * 10.0**power for power in range(-3, 3) for digit in (1, 3)]


def _footnote(document: dict) -> str:
    return (
        "Two buffers of 16 MiB. Model: T = C + W + (n − 1) max(C, W), with C and W of the "
        "synchronous run of the same round.\nPoints above it: two writes in flight use the storage "
        "better than one. Whiskers: min–max of the rounds.\n" + machine_line(document["machine"])
    )
