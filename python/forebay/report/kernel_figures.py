# SPDX-License-Identifier: Apache-2.0
"""Plotly figures of the page of `forebay kernel run`. Colors are never the only distinction."""

from html import escape

import numpy as np
import plotly.graph_objects as go

from forebay.kernel import metrics
from forebay.kernel.curves import cumulative
from forebay.kernel.kernel_file import Kernel
from forebay.report import style, units
from forebay.report.byte_axis import byte_axis
from forebay.report.kernel_summary import spread_text
from forebay.report.pooling import pool

# Color and pattern of each phase.
PHASE_LOOKS = {
    "open": (style.SKY, "/"),
    "write": (style.BLUE, ""),
    "close": (style.ORANGE, "\\"),
    "read": (style.GREEN, "x"),
}
# Metric, name, color and symbol.
BANDWIDTHS = (
    ("perceived_mb_s", "perceived", style.BLUE, "circle"),
    ("durable_mb_s", "durable", style.VERMILION, "diamond"),
    ("read_mb_s", "read", style.GREEN, "square"),
)
TIMES = (
    ("blocked_s", "blocked by I/O", style.ORANGE, "square"),
    ("total_s", "application", style.BLUE, "circle"),
    ("durable_s", "until durable", style.VERMILION, "diamond"),
)
OPERATION_LOOKS = (
    (style.BLUE, "circle"),
    (style.VERMILION, "diamond"),
    (style.GREEN, "square"),
    (style.ORANGE, "triangle-up"),
    (style.SKY, "x"),
    (style.INK, "cross"),
)
COLORSCALE = "Cividis"
CELLS_MAX = 65536  # of all heat maps, which bounds the size of the page
POINTS_MAX = 200  # of a curve
TICKS_MAX = 8  # of ranks and steps
LOGARITHMIC_FROM = 100  # largest / smallest bandwidth
ROW_PIXELS = 46
FRAME_PIXELS = 130


def phases(summaries: dict) -> go.Figure:
    """Seconds of each phase, stacked, a bar for each backend."""
    figure = empty_figure(len(summaries), "seconds")
    names = [label(backend) for backend in summaries]
    for phase, (color, shape) in PHASE_LOOKS.items():
        of_phase = [one[f"{phase}_s"] for one in summaries.values()]
        if any(one["value"] for one in of_phase):
            figure.add_bar(
                y=names,
                x=[one["value"] for one in of_phase],
                name=phase,
                orientation="h",
                marker={"color": color, "pattern": {"shape": shape, "fgcolor": style.INK}},
                marker_pattern_size=6,
                customdata=[spread_text(one, "s") for one in of_phase],
                hovertemplate="%{customdata}",
            )
    figure.update_layout(barmode="stack")
    return figure


def points(summaries: dict, shown: tuple, unit: str) -> go.Figure:
    """Medians with their spread; `shown` is BANDWIDTHS or TIMES. An absent metric has no point."""
    row = 1.4 if len(shown) > 1 else 0.8
    figure = empty_figure(row * len(summaries), {"s": "seconds"}.get(unit, unit))
    values = []
    for metric, name, color, symbol in shown:
        found = {
            label(one): all_of[metric] for one, all_of in summaries.items() if metric in all_of
        }
        if not found:
            continue
        medians = [one["value"] for one in found.values()]
        values += [end for one in found.values() for end in one["spread"]]
        figure.add_scatter(
            y=list(found),
            x=medians,
            name=name,
            mode="markers",
            orientation="h",
            marker={"color": color, "symbol": symbol, "size": 11},
            error_x={
                "array": [one["spread"][1] - one["value"] for one in found.values()],
                "arrayminus": [one["value"] - one["spread"][0] for one in found.values()],
                "type": "data",
            },
            customdata=[spread_text(one, unit) for one in found.values()],
            hovertemplate="%{customdata}",
        )
    figure.update_layout(scattermode="group", scattergap=0.5)
    figure.update_yaxes(categoryorder="array", categoryarray=list(map(label, summaries)))
    positive = [one for one in values if one > 0]
    if positive and max(positive) / min(positive) >= LOGARITHMIC_FROM:
        figure.update_xaxes(type="log", dtick=1)
    return figure


def blocked_cells(document: dict, backend: str) -> np.ndarray:
    """Seconds for which each rank was blocked in each step: [rank][step], medians of the runs."""
    seconds = [
        np.sum([np.array(run["phases"][phase]) for phase in metrics.PHASES], axis=0)
        for run in document["runs"]
        if run["backend"] == backend
    ]
    return np.median(seconds, axis=0).T


def imbalance(document: dict, backends: list[str]) -> go.Figure:
    """A heat map for each backend; only the first one is visible."""
    side_max = max(1, int((CELLS_MAX / len(backends)) ** 0.5))
    figure = empty_figure(7, "step", "rank")
    for number, backend in enumerate(backends):
        cells, (ranks_of_cell, steps_of_cell) = pool(blocked_cells(document, backend), side_max)
        figure.add_heatmap(
            z=cells.astype(np.float32),
            x0=(steps_of_cell - 1) / 2,
            dx=steps_of_cell,
            y0=(ranks_of_cell - 1) / 2,
            dy=ranks_of_cell,
            name=label(backend),
            visible=number == 0,
            zmin=0,
            zmax=cells.max() or 1,
            colorscale=COLORSCALE,
            colorbar={"title": {"text": "seconds"}, "thickness": 14},
            hovertemplate="rank %{y}, step %{x}: %{z:.3g} s<extra></extra>",
        )
    ranks, steps = document["runs"][0]["ranks"], document["runs"][0]["steps"]
    figure.update_layout(showlegend=False)
    figure.update_xaxes(showgrid=False, rangemode="normal", dtick=-(-steps // TICKS_MAX))
    figure.update_yaxes(showgrid=False, autorange=True, dtick=-(-ranks // TICKS_MAX))
    return figure


def sizes(kernel: Kernel, drawn: dict) -> go.Figure | None:
    """Cumulative distribution of the drawn sizes of an operation, and that of the kernel file, for
    the operations with the most bytes. None if nothing draws sizes."""
    of_calls = [
        (operation, np.sort(draws["sizes"]))
        for operation, draws in zip(kernel.operations, drawn["operations"], strict=True)
        if draws["sizes"]
    ]
    of_calls = sorted(of_calls, key=lambda one: -one[1].sum())[: len(OPERATION_LOOKS)]
    if not of_calls:
        return None
    smallest = min(values[0] for _, values in of_calls)
    axis = byte_axis(smallest, max(values[-1] for _, values in of_calls))
    spacing = np.geomspace if axis.scale == "log" else np.linspace
    grid = spacing(axis.low, axis.high, POINTS_MAX)
    figure = empty_figure(7, "bytes of a call", "share of calls that are at most as large")
    for (operation, values), (color, symbol) in zip(of_calls, OPERATION_LOOKS, strict=False):
        _add_draws(figure, operation.name, values, {"color": color, "symbol": symbol})
        if operation.size is not None:
            _add_curve(figure, operation, np.union1d(grid, _chosen(values)), color)
    figure.update_xaxes(type=axis.scale, tickvals=axis.ticks, ticktext=axis.texts)
    figure.update_xaxes(range=np.log10([axis.low, axis.high]) if axis.scale == "log" else None)
    figure.update_yaxes(range=[-0.03, 1.03], autorange=False, tickformat=".0%")
    return figure


def _add_draws(figure: go.Figure, name: str, values: np.ndarray, marker: dict) -> None:
    chosen = _chosen(values)
    shares = np.searchsorted(values, chosen, side="right") / len(values)
    figure.add_scatter(
        x=chosen,
        y=np.round(shares, 5),
        name=f"{name}: {units.items(len(values), 'call')} drawn",
        mode="markers",
        marker=marker | {"size": 6},
        legendgroup=name,
        customdata=[units.size(one) for one in chosen],
        hovertemplate="%{y:.1%} ≤ %{customdata}",
    )


def _add_curve(figure: go.Figure, operation, grid: np.ndarray, color: str) -> None:
    shares = cumulative(operation.size, grid)
    if shares is not None:
        figure.add_scatter(
            x=grid,
            y=np.round(shares, 5),
            name=f"{operation.name}: kernel",
            mode="lines",
            line={"color": color, "width": 2},
            legendgroup=operation.name,
            hoverinfo="skip",
        )


def _chosen(values: np.ndarray) -> np.ndarray:
    """Some of ascending values, equally many between two of them."""
    at = np.linspace(0, len(values) - 1, min(len(values), POINTS_MAX)).round().astype(int)
    return np.unique(values[at])


def label(backend: str) -> str:
    """A backend as text of Plotly, which has markup; options begin a line."""
    return escape(backend).replace(":", ":<br>").replace(",", ",<br>")


def empty_figure(rows: float, x_title: str, y_title: str | None = None) -> go.Figure:
    """Rows of a category axis begin at the top; a value axis begins at zero."""
    figure = go.Figure(
        layout={
            "template": "plotly_white",
            "height": FRAME_PIXELS + round(ROW_PIXELS * rows),
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "legend": {
                "orientation": "h",
                "traceorder": "normal",
                "x": 0,
                "y": 1.02,
                "yanchor": "bottom",
            },
            "font": {"family": "system-ui, sans-serif", "size": 13, "color": style.INK},
            "showlegend": True,
            "dragmode": False,
            "hovermode": "closest",
        }
    )
    figure.update_xaxes(title=x_title, rangemode="tozero", automargin=True)
    figure.update_yaxes(title=y_title, automargin=True)
    if y_title is None:
        figure.update_yaxes(autorange="reversed")
    return figure
