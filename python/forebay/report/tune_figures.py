# SPDX-License-Identifier: Apache-2.0
"""Plotly figures of the page of `forebay explain`. Colors are never the only distinction."""

from statistics import median

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from forebay.report import style, tune_tables, units
from forebay.report.kernel_figures import COLORSCALE, empty_figure

PLANS_SHOWN = 12
BEST = {"color": style.BLUE, "symbol": "star", "size": 15}
DEFAULT = {"color": style.VERMILION, "symbol": "diamond", "size": 11}
OTHER = {"color": style.GREY, "symbol": "circle", "size": 8}


def measured(document: dict) -> go.Figure:
    """Times of the fastest plans and of the default, with their ranges."""
    shown = [one for one in document["points"] if one["seconds"]][:PLANS_SHOWN]
    if document["first"] not in shown and document["first"]["seconds"]:
        shown.append(document["first"])
    best, default = document["best"]["plan"], document["first"]["plan"]
    figure = empty_figure(len(shown) * 0.8, "seconds of a step")
    for name, marker, points in (
        ("plan of the profile", BEST, [one for one in shown if one["plan"] == best]),
        ("default", DEFAULT, [one for one in shown if one["plan"] == default != best]),
        ("other plans", OTHER, [one for one in shown if one["plan"] not in (best, default)]),
    ):
        middles = [median(one["seconds"]) for one in points]
        figure.add_scatter(
            x=middles,
            y=[_label(one["plan"]) for one in points],
            name=name,
            mode="markers",
            marker=marker,
            error_x={
                "array": [max(p["seconds"]) - m for p, m in zip(points, middles, strict=True)],
                "arrayminus": [m - min(p["seconds"]) for p, m in zip(points, middles, strict=True)],
                "type": "data",
            },
            customdata=[tune_tables.seconds_text(one["seconds"]) for one in points],
            hovertemplate="%{customdata}",
        )
    order = [_label(one["plan"]) for one in shown]
    figure.update_yaxes(categoryorder="array", categoryarray=order)
    return figure


def surface(document: dict) -> go.Figure | None:
    """The posterior mean by writers and files, and the measured plans on it."""
    found = document["surface"]
    if found is None or min(len(found["writers"]), len(found["files"])) < 2:
        return None
    figure = empty_figure(8, "writers", "files")
    figure.add_heatmap(
        z=found["seconds"],
        x=[units.count(one) for one in found["writers"]],
        y=[units.count(one) for one in found["files"]],
        colorscale=COLORSCALE,
        reversescale=True,
        colorbar={"title": {"text": "seconds"}, "thickness": 14},
        text=[[units.duration(one) if one else "" for one in row] for row in found["seconds"]],
        texttemplate="%{text}",
        hovertemplate="%{x} writers, %{y} files: %{text}<extra></extra>",
        showlegend=False,
    )
    best = document["best"]["plan"]
    best_place = {(best["writers"], best["files"])}
    places = {(one["writers"], one["files"]) for one in found["points"]}
    for name, marker, at in (
        ("measured", OTHER | {"symbol": "circle-open", "size": 56}, places),
        ("plan of the profile", BEST | {"symbol": "square-open", "size": 66}, best_place),
    ):
        figure.add_scatter(
            x=[units.count(writers) for writers, _ in at],
            y=[units.count(files) for _, files in at],
            name=name,
            mode="markers",
            marker=marker | {"color": style.VERMILION, "line": {"width": 2}},
            hoverinfo="skip",
        )
    for axis, key in ((figure.update_xaxes, "writers"), (figure.update_yaxes, "files")):
        texts = [units.count(one) for one in found[key]]
        axis(type="category", categoryorder="array", categoryarray=texts, showgrid=False)
    return figure.update_yaxes(autorange=True)


def slices(document: dict) -> go.Figure | None:
    """Seconds along each further parameter, from the best plan on."""
    found = [one for one in document["slices"] if len(one["seconds"]) > 1]
    if not found:
        return None
    figure = make_subplots(1, len(found), shared_yaxes=True)
    figure.update_layout(empty_figure(5, "").layout, showlegend=False)
    for column, one in enumerate(found, 1):
        figure.add_scatter(
            x=one["texts"],
            y=one["seconds"],
            mode="lines+markers",
            marker={"color": style.BLUE},
            error_y={
                "array": [h - s for h, s in zip(one["high"], one["seconds"], strict=True)],
                "arrayminus": [s - low for low, s in zip(one["low"], one["seconds"], strict=True)],
            },
            hovertemplate="%{x}: %{y:.3g} s<extra></extra>",
            row=1,
            col=column,
        )
        figure.update_xaxes(title=one["name"], type="category", row=1, col=column)
    figure.update_yaxes(title="seconds", rangemode="tozero", col=1, autorange=True)
    return figure


def effects(document: dict) -> go.Figure | None:
    """Share of each parameter in the differences of plans."""
    found = document["effects"]
    if not found:
        return None
    figure = empty_figure(len(found) * 0.8, "share of the differences")
    figure.add_bar(
        x=[one["share"] for one in found],
        y=[one["name"] for one in found],
        orientation="h",
        marker={"color": style.BLUE},
        text=[f"{one['share']:.0%}" for one in found],
        textposition="auto",
        customdata=[_effect_text(one) for one in found],
        hovertemplate="%{customdata}<extra></extra>",
    )
    figure.update_xaxes(tickformat=".0%")
    figure.update_layout(showlegend=False)
    return figure


def _label(plan: dict) -> str:
    """Two lines, the second one with sizes."""
    words = tune_tables.plan_text(plan).split(", ")
    return ", ".join(words[:3]) + "<br>" + ", ".join(words[3:])


def _effect_text(effect: dict) -> str:
    values = (f"{one['text']}: {units.number(one['factor'])}" for one in effect["values"])
    return "<br>".join(values)
