# SPDX-License-Identifier: Apache-2.0
"""Plots of `forebay study irregular`: times by aggregators for small and large steps, and losses
with the best setting of another pattern."""

from pathlib import Path

from forebay.irregular_study import FAMILIES, MACHINES, SIZES, points_of, select
from forebay.report import style

LINES = {"gather": "--", "brigade": "-"}
COLORS = (style.BLUE, style.GREEN, style.VERMILION)


def draw_irregular(result: dict, path: Path) -> None:
    points = select(points_of(result), is_ahead=False)
    with style.picture(path, 12, 10.5) as figure:
        axes = figure.subplots(3, len(MACHINES))
        for column, machine in enumerate(MACHINES):
            for row, size in enumerate(SIZES):
                draw_times(axes[row][column], select(points, machine=machine, size=size))
                axes[row][column].set_title(f"{machine}, {SIZES[size] / 1e6:.3g} MB a writer")
            draw_losses(axes[2][column], result["losses"][machine])
        axes[0][0].legend(fontsize="small")
        for row in (0, 1):
            axes[row][0].set_ylabel("s until durable")
        style.footnote(
            figure, f"{result['ranks']} ranks, {result['steps']} steps, by simulation; medians"
        )


def draw_times(axis, points) -> None:
    """The best number of targets for each number of aggregators."""
    for number, family in enumerate(FAMILIES):
        for strategy, line in LINES.items():
            chosen = select(points, family=family, strategy=strategy)
            counts = sorted({p.aggregators for p in chosen})
            times = [min(p.durable_s for p in select(chosen, aggregators=n)) for n in counts]
            axis.plot(counts, times, line, color=COLORS[number], label=f"{family}, {strategy}")
    axis.set_xscale("log", base=2)
    axis.set_ylim(bottom=0)
    axis.set_xlabel("aggregators")


def draw_losses(axis, losses: dict) -> None:
    names = list(losses)
    values = [[100 * max(losses[row][column], 0) for column in names] for row in names]
    axis.grid(visible=False)
    largest = max(10, max(map(max, values)))
    axis.imshow(values, cmap="Reds", vmin=0, vmax=largest)
    axis.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize="x-small")
    axis.set_yticks(range(len(names)), names, fontsize="x-small")
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            color = "white" if value > 0.6 * largest else style.INK
            text = {"ha": "center", "va": "center", "fontsize": "x-small", "color": color}
            axis.text(column, row, f"{value:.0f}", **text)
    axis.set_title("loss in %, optimum of the column", fontsize="small")
