# SPDX-License-Identifier: Apache-2.0
"""Many tasks on a parallel file system: their times, and the load of its servers."""

from pathlib import Path

from forebay.report import style, units
from forebay.report.tasks_plot import LOOKS, set_task_axis
from forebay.servers import FileRead, ServerLoad, ServerResults

BAR_HEIGHT = 0.38
PERCENT = 100
INSIDE_FROM = 55  # percent; a text beside a longer bar would not fit into the panel
SECONDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)


def draw_servers(results: ServerResults, file: Path) -> None:
    """Plots times over numbers of tasks, and the load of servers with the largest number."""
    with style.picture(file, 10.6, 4.5) as figure:
        times, servers = figure.subplots(1, 2, width_ratios=(1, 1.05))
        _draw_times(times, results)
        _draw_servers(servers, results)
        style.footnote(figure, _footnote(results))


def _draw_times(axes, results: ServerResults) -> None:
    tasks = [point.tasks for point in results.points]
    for reader, look in LOOKS.items():
        seconds = [point.runs[reader].seconds for point in results.points]
        axes.plot(tasks, seconds, **look)
        _write_end(axes, (tasks[-1], seconds[-1]), results.points[-1].runs[reader])
    rate = units.rate(results.file_bytes / results.limit_s)
    axes.axhline(
        results.limit_s, color=style.INK, linewidth=1.3, linestyle=(0, (4, 2)),
        label=f"the storage's limit, {rate}",
    )  # fmt: skip
    axes.set_title(f"{units.size(results.file_bytes)} from {results.storage}, emulated")
    axes.set_ylabel("seconds (log)")
    _set_seconds(axes, results)
    set_task_axis(axes, tasks)
    axes.set_xlim(tasks[0] / 1.5, tasks[-1] * 1.25)  # room for the texts at the ends of lines
    axes.legend(loc="upper left", fontsize=9)


def _write_end(axes, end: tuple[int, float], run: FileRead) -> None:
    """Writes a text beside the last point, above the line of the limit."""
    axes.annotate(
        f"{units.number(1 / run.of_limit)} ×\nthe limit", end,
        xytext=(9, 1), textcoords="offset points", va="bottom", fontsize=8.5, annotation_clip=False,
    )  # fmt: skip


def _set_seconds(axes, results: ServerResults) -> None:
    """Ticks without exponents, and room above for the legend."""
    all_seconds = [run.seconds for point in results.points for run in point.runs.values()]
    low, high = 0.75 * results.limit_s, 4.5 * max(all_seconds)
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    shown = [one for one in SECONDS if low <= one <= 1.5 * max(all_seconds)]
    axes.set_yticks(shown, [units.limit(one) for one in shown])
    axes.minorticks_off()


def _draw_servers(axes, results: ServerResults) -> None:
    point = results.points[-1]
    names = [f"server {i}" for i in range(len(point.runs["naive"].servers))]
    names += ["metadata"] * len(point.runs["naive"].metadata)
    for row, reader in enumerate(LOOKS):
        run = point.runs[reader]
        for place, server in enumerate(run.servers + run.metadata):
            _draw_bar(axes, place + (row - 0.5) * BAR_HEIGHT, server, LOOKS[reader]["color"])
    axes.set_yticks(range(len(names)), names)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlim(0, PERCENT)
    axes.set_xlabel("% of the time in which it serves a request")
    axes.set_title(f"Load of its servers, with {point.tasks} tasks")


def _draw_bar(axes, place: float, server: ServerLoad, color: str) -> None:
    busy = PERCENT * server.busy
    axes.barh(place, busy, height=BAR_HEIGHT * 0.92, color=color)
    inside = busy >= INSIDE_FROM
    axes.annotate(
        load_text(server),
        (busy, place),
        xytext=(-6 if inside else 6, -0.5), textcoords="offset points",
        ha="right" if inside else "left", va="center", fontsize=8.5,
        color="white" if inside and color == style.FOREBAY else style.INK,
        weight="bold" if inside else "normal",
    )  # fmt: skip


def load_text(server: ServerLoad) -> str:
    """The number of requests, and the mean size of those that transfer bytes."""
    if server.mean_bytes:
        return f"{units.count(server.requests)} × {units.size(server.mean_bytes)}"
    return f"{units.count(server.requests)} {'request' if server.requests == 1 else 'requests'}"


def _footnote(results: ServerResults) -> str:
    where = f"on {results.ranks} ranks" if results.ranks > 1 else "in one process"
    return (
        f"Read {where}, once each, dropped from the client's page cache before; if processors are "
        "idle, time is that of the emulated machine.\nBeside bars: requests × their mean size; "
        "for the metadata server, operations on names: mostly opens. "
        f"`forebay machine show {results.storage}` describes the machine."
    )
