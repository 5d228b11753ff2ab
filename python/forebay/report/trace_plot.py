# SPDX-License-Identifier: Apache-2.0
"""Offsets of accesses over time: a panel for each file, reads and writes by color and marker."""

from pathlib import Path

from forebay.report import style, units
from forebay.report.trace_tables import printable, streams_of

NANOSECONDS = 1e9
FILES_MAX = 6
MARKERS = {"reads": (style.BLUE, "."), "writes": (style.VERMILION, "x")}


def draw_streams(document: dict, file: Path) -> None:
    files = _points_by_file(document)
    shown = sorted(files, key=lambda name: -sum(map(len, files[name].values())))[:FILES_MAX]
    with style.picture(file, 8.4, 1.2 + 2.6 * max(1, len(shown))) as figure:
        panels = figure.subplots(max(1, len(shown)), 1, squeeze=False)[:, 0]
        for axes, name in zip(panels, shown, strict=False):
            _draw_file(axes, name, files[name])
        panels[-1].set_xlabel("seconds")
        style.footnote(figure, _footnote(document, len(files), len(shown)))


def _points_by_file(document: dict) -> dict:
    files: dict = {}
    for stream, kind, accesses in streams_of(document):
        of_file = files.setdefault(stream["file"], {"reads": [], "writes": []})
        of_file[kind] += accesses["points"]
    return files


def _draw_file(axes, name: str, points: dict) -> None:
    highest = max(offset + size for kind in points for _, offset, size in points[kind])
    unit, factor = _unit_of(highest)
    for kind, (color, marker) in MARKERS.items():
        if points[kind]:
            times = [begin / NANOSECONDS for begin, _, _ in points[kind]]
            offsets = [offset / factor for _, offset, _ in points[kind]]
            axes.plot(times, offsets, marker, color=color, markersize=3, label=kind)
    axes.set_title(printable(name) or "(no name)", parse_math=False)
    axes.set_ylabel(f"offset, {unit}")
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, fontsize=9)


def _unit_of(highest: int) -> tuple[str, float]:
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if highest >= factor:
            return unit, factor
    return "bytes", 1


def _footnote(document: dict, files: int, shown: int) -> str:
    text = f"{units.items(document['records'], 'record')} of {units.items(files, 'file')}."
    if shown < files:
        text += f" The {shown} files with most accesses are shown."
    return text + " Of long streams, accesses at equal distances are shown."
