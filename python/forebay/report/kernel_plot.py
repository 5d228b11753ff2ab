# SPDX-License-Identifier: Apache-2.0
"""What a kernel draws: sizes of calls, and bytes by rank and step, a row for each operation."""

from pathlib import Path

import numpy as np

from forebay.report import style, units
from forebay.report.byte_axis import byte_axis
from forebay.report.pooling import pool

OPERATIONS_MAX = 6
BINS = 40
CELLS_MAX = 512  # in each direction of a heat map
COLORMAP = "cividis"
ROW_IN = 2.7


def draw_kernel(document: dict, file: Path) -> None:
    """Plots a document of `forebay kernel show`: the operations that draw the most bytes."""
    shown = _largest(document["operations"])
    with style.picture(file, 11, 1.1 + ROW_IN * len(shown)) as figure:
        rows = figure.subplots(len(shown), 2, squeeze=False, width_ratios=[1, 1.15])
        for (left, right), operation in zip(rows, shown, strict=True):
            _draw_sizes(left, operation)
            _draw_bytes(figure, right, operation)
        style.footnote(figure, _footnote(document, shown))


def _largest(operations: list[dict]) -> list[dict]:
    """In the order of the kernel. A read of what its rank has written draws no bytes of its own."""
    by_bytes = sorted(operations, key=lambda one: -sum(one["rank_bytes"]))
    chosen = [one for one in by_bytes[:OPERATIONS_MAX] if sum(one["rank_bytes"])] or by_bytes[:1]
    return [one for one in operations if one in chosen]


def _draw_sizes(axes, operation: dict) -> None:
    sizes = np.array(operation["sizes"])
    axes.set_title(f"{operation['name']}: sizes of calls", fontsize=10, parse_math=False)
    axes.set_ylabel("share of calls, %")
    if sizes.size == 0:
        axes.text(0.5, 0.5, "no calls", ha="center", va="center", transform=axes.transAxes)
        return
    axis = byte_axis(sizes.min(), sizes.max())
    spacing = np.geomspace if axis.scale == "log" else np.linspace
    edges = spacing(axis.low, axis.high, BINS + 1)
    shares = np.full(sizes.size, 100 / sizes.size)
    axes.hist(sizes, edges, weights=shares, color=style.BLUE, edgecolor="white", linewidth=0.4)
    axes.set_xscale(axis.scale)
    axes.set_xlim(axis.low, axis.high)
    axes.minorticks_off()
    axes.set_xticks(axis.ticks, axis.texts, fontsize=8)
    axes.set_xlabel("bytes of a call")


def _draw_bytes(figure, axes, operation: dict) -> None:
    cells = np.array(operation["bytes"], dtype=float).T
    largest = cells.max(initial=0)
    ranks, steps = cells.shape
    pooled, _ = pool(cells, CELLS_MAX)
    image = axes.imshow(
        pooled, cmap=COLORMAP, vmin=0, vmax=largest or 1, aspect="auto", origin="lower",
        extent=(-0.5, steps - 0.5, -0.5, ranks - 0.5), interpolation="nearest",
    )  # fmt: skip
    _label_cells(axes)
    axis = byte_axis(0, largest or 1)
    bar = figure.colorbar(image, ax=axes, pad=0.02)
    bar.set_ticks(axis.ticks, labels=axis.texts, fontsize=8)
    bar.ax.set_ylim(0, largest or 1)
    bar.outline.set_visible(False)
    axes.set_title(f"{operation['name']}: bytes", fontsize=10, parse_math=False)


def _label_cells(axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel("step")
    axes.set_ylabel("rank")
    for direction in (axes.xaxis, axes.yaxis):
        direction.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    axes.grid(False)


def _footnote(document: dict, shown: list[dict]) -> str:
    kernel = document["kernel"]
    parts = [
        f"{kernel['name']}: {units.items(kernel['writers'], 'rank')}",
        units.items(kernel["steps"], "step"),
    ]
    hidden = len(document["operations"]) - len(shown)
    if hidden:
        parts.append(f"{units.items(hidden, 'operation')} with few or no draws left out")
    words = "\n".join(f"{one['name']}: {one['words']}" for one in shown)
    return f"{', '.join(parts)}.\n{words}"
