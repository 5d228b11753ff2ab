# SPDX-License-Identifier: Apache-2.0
"""Many tasks on a parallel file system: how long they take, and what its servers did meanwhile."""

from pathlib import Path

from forebay.report import style, units
from forebay.report.tasks_plot import LOOKS, set_task_axis
from forebay.servers import Found, Run, Server

BAR_HEIGHT = 0.38
PERCENT = 100
INSIDE_FROM = 55  # percent; texts beside longer bars would leave the panel
SECONDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)


def draw_servers(found: Found, file: Path) -> None:
    """Times against numbers of tasks, and the servers with the most of them."""
    with style.picture(file, 10.6, 4.5) as figure:
        times, servers = figure.subplots(1, 2, width_ratios=(1, 1.05))
        _draw_times(times, found)
        _draw_servers(servers, found)
        style.footnote(figure, _footnote(found))


def _draw_times(axes, found: Found) -> None:
    tasks = [point.tasks for point in found.points]
    for reader, look in LOOKS.items():
        seconds = [point.runs[reader].seconds for point in found.points]
        axes.plot(tasks, seconds, **look)
        _write_end(axes, (tasks[-1], seconds[-1]), found.points[-1].runs[reader])
    rate = units.rate(found.file_bytes / found.limit_s)
    axes.axhline(
        found.limit_s, color=style.INK, linewidth=1.3, linestyle=(0, (4, 2)),
        label=f"the storage's limit, {rate}",
    )  # fmt: skip
    axes.set_title(f"{units.size(found.file_bytes)} from {found.storage}, emulated")
    axes.set_ylabel("seconds (log)")
    _set_seconds(axes, found)
    set_task_axis(axes, tasks)
    axes.set_xlim(tasks[0] / 1.5, tasks[-1] * 1.25)  # lines end before the texts beside them
    axes.legend(loc="upper left", fontsize=9)


def _write_end(axes, end: tuple[int, float], run: Run) -> None:
    """Beside the last point, and above the line of the limit."""
    axes.annotate(
        f"{units.number(1 / run.of_limit)} ×\nthe limit", end,
        xytext=(9, 1), textcoords="offset points", va="bottom", fontsize=8.5, annotation_clip=False,
    )  # fmt: skip


def _set_seconds(axes, found: Found) -> None:
    """Ticks as people write them; room above for the legend."""
    all_seconds = [run.seconds for point in found.points for run in point.runs.values()]
    low, high = 0.75 * found.limit_s, 4.5 * max(all_seconds)
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    shown = [one for one in SECONDS if low <= one <= 1.5 * max(all_seconds)]
    axes.set_yticks(shown, [units.limit(one) for one in shown])
    axes.minorticks_off()


def _draw_servers(axes, found: Found) -> None:
    point = found.points[-1]
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
    axes.set_title(f"Why: what its servers do, with {point.tasks} tasks")


def _draw_bar(axes, place: float, server: Server, colour: str) -> None:
    busy = PERCENT * server.busy
    axes.barh(place, busy, height=BAR_HEIGHT * 0.92, color=colour)
    inside = busy >= INSIDE_FROM
    axes.annotate(
        work_text(server),
        (busy, place),
        xytext=(-6 if inside else 6, -0.5), textcoords="offset points",
        ha="right" if inside else "left", va="center", fontsize=8.5,
        color="white" if inside and colour == style.FOREBAY else style.INK,
        weight="bold" if inside else "normal",
    )  # fmt: skip


def work_text(server: Server) -> str:
    """How many requests, and how large those for bytes are."""
    if server.mean_bytes:
        return f"{units.count(server.requests)} × {units.size(server.mean_bytes)}"
    return f"{units.count(server.requests)} {'request' if server.requests == 1 else 'requests'}"


def _footnote(found: Found) -> str:
    where = f"on {found.ranks} ranks" if found.ranks > 1 else "in one process"
    return (
        f"Read {where}, once each, dropped from the client's page cache before; where processors "
        "are free, time is that of the emulated machine.\nBeside bars: requests × their mean size; "
        "of the metadata server, operations on names: mostly opens. "
        f"`forebay machine show {found.storage}` says what the machine is."
    )
