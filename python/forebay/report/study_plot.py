# SPDX-License-Identifier: Apache-2.0
"""The tables of a study as heat maps side by side, with the best cell of each machine framed."""

import math
from pathlib import Path

from forebay.checkpoint_study import cells_of, shape_of
from forebay.report import style, units

WIDTH_OF_CELL_IN = 0.56
HEIGHT_OF_CELL_IN = 0.42
MARGIN_IN = 1.1
COLORMAP = "cividis"
DARK_BELOW = 0.55  # of the largest value; below it, text is white
SMALL_TEXT = 8


def draw_study(report: dict, file: Path) -> None:
    """Plots a document of report_of()."""
    from forebay.report.study_tables import question_line

    machines = report["machines"]
    rows, columns = _grid_of(machines[0])
    width = max(6.4, len(machines) * (len(columns) * WIDTH_OF_CELL_IN + MARGIN_IN))
    height = len(rows) * HEIGHT_OF_CELL_IN + 2
    with style.picture(file, width, height) as figure:
        for axes, machine in zip(
            figure.subplots(1, len(machines), squeeze=False)[0], machines, strict=True
        ):
            _draw_machine(axes, machine)
        style.footnote(figure, question_line(report["parameters"]).replace("▸", "the frame"))


def _grid_of(machine: dict) -> tuple[list[int], list[int]]:
    cells = cells_of(machine, machine["table"])
    return sorted({one["writers"] for one in cells}), sorted({one["files"] for one in cells})


def _draw_machine(axes, machine: dict) -> None:
    rows, columns = _grid_of(machine)
    values = [[math.nan] * len(columns) for _ in rows]
    for cell in cells_of(machine, machine["table"]):
        values[rows.index(cell["writers"])][columns.index(cell["files"])] = cell["mb_per_s"]
    largest = max(value for row in values for value in row if not math.isnan(value))
    axes.imshow(values, cmap=COLORMAP, vmin=0, vmax=largest, aspect="auto")
    _label_cells(axes, values, largest)
    _frame_best(axes, rows, columns, machine["best"])
    axes.set_title(f"{machine['name']}\n{machine['table']}, MB/s", fontsize=10)
    axes.set_xlabel("files")
    axes.set_ylabel("writers")
    axes.set_xticks(range(len(columns)), [units.count(one) for one in columns])
    axes.set_yticks(range(len(rows)), [units.count(one) for one in rows])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.grid(False)


def _label_cells(axes, values: list[list[float]], largest: float) -> None:
    for y, row in enumerate(values):
        for x, value in enumerate(row):
            if math.isnan(value):
                continue
            color = "white" if value < DARK_BELOW * largest else style.INK
            axes.text(
                x, y, f"{value:.0f}", ha="center", va="center", color=color, fontsize=SMALL_TEXT
            )


def _frame_best(axes, rows: list[int], columns: list[int], best: dict) -> None:
    from matplotlib.patches import Rectangle

    writers, files = shape_of(best)
    corner = (columns.index(files) - 0.5, rows.index(writers) - 0.5)
    frame = Rectangle(corner, 1, 1, fill=False, edgecolor=style.VERMILION, linewidth=2.5)
    frame.set_clip_on(False)
    axes.add_patch(frame)
