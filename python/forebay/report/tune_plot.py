# SPDX-License-Identifier: Apache-2.0
"""The picture of `forebay explain --plot`: writers and files as a heat map, with measured plans."""

import math
from pathlib import Path

import numpy as np

from forebay.errors import ForebayError
from forebay.report import style, tune_tables, units


def draw_surface(document: dict, file: Path) -> None:
    """Plots the surface of a document of explain()."""
    surface = document["surface"]
    if surface is None:
        raise ForebayError("plot the surface: too few plans are measured; search with more --runs")
    writers, files = surface["writers"], surface["files"]
    rows = [[math.nan if one is None else one for one in row] for row in surface["seconds"]]
    with style.picture(file, max(6.0, 1.6 + len(writers)), 2.4 + 0.55 * len(files)) as figure:
        axes = figure.subplots()
        drawn = axes.imshow(np.array(rows), cmap="cividis_r", aspect="auto", origin="lower")
        figure.colorbar(drawn, label="seconds of a step")
        points = [(writers.index(p["writers"]), files.index(p["files"])) for p in surface["points"]]
        ring = {"facecolors": "none", "edgecolors": style.VERMILION}
        axes.scatter(*zip(*points, strict=True), s=160, label="measured", **ring)
        best = document["best"]["plan"]
        place = (writers.index(best["writers"]), files.index(best["files"]))
        axes.scatter(*place, s=420, marker="s", label="plan of the profile", **ring)
        axes.set_xticks(range(len(writers)), [units.count(one) for one in writers])
        axes.set_yticks(range(len(files)), [units.count(one) for one in files])
        axes.set_xlabel("writers")
        axes.set_ylabel("files")
        axes.grid(False)
        axes.set_title(f"{surface['strategy'] or 'all strategies'}: seconds by the surrogate")
        figure.legend(loc=style.outside("upper right"), ncols=2)
        style.footnote(figure, f"plan of the profile: {tune_tables.plan_text(best)}")
