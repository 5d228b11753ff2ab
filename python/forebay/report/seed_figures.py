# SPDX-License-Identifier: Apache-2.0
"""Plotly figures of the page of `forebay study seeds`: theirs beside ours. Symbols, dashes and
printed values distinguish as colors do."""

from collections.abc import Iterable

import plotly.graph_objects as go

from forebay.agreement import relative_errors
from forebay.bluegene_study import APPROACHES, DESCRIBED, FITTED, TABLE_MACHINE, by_cell
from forebay.ckio_study import NAIVE, NAMES, SESSION, SHARED, seconds
from forebay.published import Cell, grid, tables
from forebay.report import style
from forebay.report.kernel_figures import COLORSCALE, empty_figure
from forebay.report.seed_tables import NAMES_OF_APPROACHES

THEIRS = {"color": style.PEER, "symbol": "diamond", "size": 13}
OURS = {"color": style.FOREBAY, "symbol": "circle", "size": 11}
BELOW = THEIRS | {"symbol": "triangle-left"}
DOUBTFUL = THEIRS | {"symbol": "diamond-open"}
CURVES = {
    SESSION: {"color": style.BLUE, "dash": "solid"},
    NAIVE: {"color": style.VERMILION, "dash": "dash"},
    SHARED: {"color": style.GREEN, "dash": "dot"},
}
DEVICE_COLORS = (style.BLUE, style.VERMILION, style.GREEN)
TICKS = [digit * 10.0**power for power in range(-3, 4) for digit in (1, 2, 5)]
ERROR_PERCENT = 25  # at the ends of the scale of errors


def figures_of(document: dict) -> dict[str, go.Figure]:
    """Figures by the id of their table."""
    bluegene = document["bluegene"]
    machines = {one["name"]: one for one in bluegene["machines"]}
    fitted = by_cell(machines[FITTED], "actual_gb_per_s")
    perceived = by_cell(machines[TABLE_MACHINE], "perceived_tb_per_s")
    return {
        **{f"approaches-{name}": approaches(name, bluegene) for name in DESCRIBED},
        "actual": heat_maps(grid("bgp_actual"), fitted, "GB/s"),
        "perceived": heat_maps(grid("bgp_perceived"), perceived, "TB/s"),
        "ckio": ckio(document["ckio"]),
        "gain": gain(document["gain"]),
    }


def approaches(name: str, document: dict) -> go.Figure:
    printed = tables()[DESCRIBED[name]]
    best = document["approaches"][name]["best"]
    figure = empty_figure(4, "actual bandwidth, GB/s")
    shown = (
        ("theirs", printed["peaks"], THEIRS),
        ("theirs: below", printed["below"], BELOW),
        ("theirs: doubtful", printed["doubtful"], DOUBTFUL),
        ("ours", {one: best[one]["actual_gb_per_s"] for one in APPROACHES}, OURS),
    )
    for label, values, marker in shown:
        if values:
            figure.add_scatter(
                y=[NAMES_OF_APPROACHES[one] for one in values],
                x=list(values.values()),
                name=label,
                mode="markers",
                marker=marker,
                hovertemplate="%{x:.3g} GB/s",
            )
    names = [NAMES_OF_APPROACHES[one] for one in APPROACHES]
    figure.update_yaxes(categoryorder="array", categoryarray=names)
    figure.update_xaxes(type="log", **ticks(TICKS))
    return figure


def heat_maps(theirs: dict[Cell, float], ours: dict[Cell, float], unit: str) -> go.Figure:
    """Published cells, simulated ones, and their relative errors."""
    errors = {cell: 100 * one for cell, one in relative_errors(theirs, ours).items()}
    figure = empty_figure(7, "", "")
    figure.set_subplots(3, 1, subplot_titles=(f"theirs, {unit}", f"ours, {unit}", "error, %"))
    values = [*theirs.values(), *ours.values()]
    scale = {"zmin": 0, "zmax": max(values), "colorscale": COLORSCALE}
    limits = {"zmin": -ERROR_PERCENT, "zmax": ERROR_PERCENT, "colorscale": "RdBu"}
    shown = ((theirs, scale, ".2f"), (ours, scale, ".2f"), (errors, limits, "+.1f"))
    writers = sorted({cell[0] for cell in theirs})
    files = sorted({cell[1] for cell in theirs})
    for row, (cells, look, digits) in enumerate(shown, 1):
        figure.add_heatmap(
            row=row,
            col=1,
            z=[[cells.get((one, other)) for other in files] for one in writers],
            x=[f"{one} files" if one > 1 else "1 file" for one in files],
            y=[f"{one} writers" for one in writers],
            texttemplate=f"%{{z:{digits}}}",
            showscale=False,
            hoverongaps=False,
            hovertemplate=f"%{{y}}, %{{x}}: %{{z:{digits}}}<extra></extra>",
            **look,
        )
    figure.update_layout(margin={"t": 32})
    figure.update_xaxes(showgrid=False)
    return figure


def ckio(document: dict) -> go.Figure:
    figure = empty_figure(6, "tasks", "seconds")
    for method, curve in document["chosen"].items():
        look = {"line": CURVES[method], "mode": "lines+markers"}
        figure.add_scatter(x=document["tasks"], y=seconds(curve), name=NAMES[method], **look)
    figure.update_xaxes(type="log", **ticks(document["tasks"]))
    figure.update_yaxes(rangemode="tozero")
    return figure


def gain(document: dict) -> go.Figure:
    """Theirs is a broad line below ours."""
    figure = empty_figure(6, "C / W: time to compute a buffer / time to write it", "gain")
    for curve, color in zip(document["curves"], DEVICE_COLORS, strict=True):
        ratios = [one["ratio"] for one in curve["points"]]
        for source, width, opacity in (("theirs", 7, 0.3), ("ours", 2, 1)):
            figure.add_scatter(
                x=ratios,
                y=[one[source] for one in curve["points"]],
                name=f"{source}, N = {curve['devices']}",
                mode="lines",
                line={"color": color, "width": width},
                opacity=opacity,
            )
    figure.update_xaxes(type="log", **ticks(TICKS))
    return figure


def ticks(values: Iterable[float]) -> dict:
    return {"tickvals": list(values), "ticktext": [f"{one:g}" for one in values]}
