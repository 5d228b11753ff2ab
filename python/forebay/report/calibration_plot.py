# SPDX-License-Identifier: Apache-2.0
"""Bandwidth over requests at once: measured values, and those of the machine file."""

from pathlib import Path

from forebay.report import style, units

MEGABYTE = 1e6
LOOKS = {"read": (style.BLUE, "o"), "write": (style.VERMILION, "s")}


def draw_calibration(document: dict, name: str, file: Path) -> None:
    with style.picture(file, 9.6, 4.2) as figure:
        panels = figure.subplots(1, 2)
        sizes = sorted({row["request_bytes"] for row in document["read"]})
        for axes, size in zip(panels, (sizes[0], sizes[-1]), strict=True):
            for direction in LOOKS:
                _draw(
                    axes, [r for r in document[direction] if r["request_bytes"] == size], direction
                )
            axes.set_title(f"Requests of {units.size(size)}")
            depths = sorted({row["depth"] for row in document["read"]})
            axes.set_xscale("log", base=2)
            axes.set_xticks(depths, [str(depth) for depth in depths])
            axes.minorticks_off()
            axes.set_xlabel("requests at once")
            axes.set_ylabel("MB/s")
            axes.set_ylim(bottom=0)
        panels[0].legend(loc="upper left", fontsize=9)
        style.footnote(
            figure,
            f"{name}: points are medians, whiskers all rounds; lines: the machine file.",
        )


def _draw(axes, rows: list[dict], direction: str) -> None:
    color, marker = LOOKS[direction]
    depths = [row["depth"] for row in rows]
    values = [row["bytes_per_second"] / MEGABYTE for row in rows]
    below = [(row["bytes_per_second"] - row["low"]) / MEGABYTE for row in rows]
    above = [(row["high"] - row["bytes_per_second"]) / MEGABYTE for row in rows]
    axes.errorbar(
        depths,
        values,
        yerr=[below, above],
        fmt=marker,
        color=color,
        capsize=3,
        elinewidth=1,
        label=f"{direction}, measured",
    )
    axes.plot(
        depths,
        [row["model"] / MEGABYTE for row in rows],
        color=color,
        linestyle="--" if direction == "write" else "-",
        label=f"{direction}, machine file",
    )
