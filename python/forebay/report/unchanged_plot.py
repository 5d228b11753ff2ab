# SPDX-License-Identifier: Apache-2.0
"""Time of a program that is not changed, on its own and under `forebay run`."""

from pathlib import Path

from forebay.report import style, units


def draw_unchanged(demo, names: dict[str, str], file: Path) -> None:
    """`demo` has `medians()`, `times` and `records`; `names` describes each way to run it."""
    medians = demo.medians()
    with style.picture(file, 8.4, 2.7) as figure:
        axes = figure.add_subplot()
        for place, way in enumerate(names):
            seconds, times = medians[way], demo.times[way]
            color = style.PEER if way == "plain" else style.FOREBAY
            axes.barh(place, seconds, height=0.62, color=color)
            axes.plot(
                [min(times), max(times)], [place, place], "-|", color=style.INK, linewidth=1.1
            )
            ratio = "" if way == "plain" else f", {units.number(medians['plain'] / seconds)} times"
            text = f"{units.duration(seconds)}{ratio}"
            axes.annotate(
                text, (max(times), place), xytext=(8, 0), textcoords="offset points", va="center"
            )
        axes.set_yticks(range(len(names)), list(names.values()))
        axes.invert_yaxis()
        axes.set_xlim(0, 1.2 * max(map(max, demo.times.values())))
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("seconds (median run; line: fastest to slowest)")
        axes.set_title("A Python program that is not changed")
        runs = len(demo.times["plain"])
        style.footnote(
            figure,
            f"{demo.records} reads of 1 KiB, 64 KiB apart, from an emulated NFS server: 5 ms, "
            f"16 threads. Nothing is cached; {units.items(runs, 'round')}. All runs agree.",
        )
