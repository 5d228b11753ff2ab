# SPDX-License-Identifier: Apache-2.0
"""Many tasks on a parallel file system, in the terminal: times, and in one sentence why."""

from statistics import mean

from forebay.report import units
from forebay.report.terminal import table


def print_servers(console, found: dict) -> None:
    """Prints what servers.to_document() gives."""
    if "skipped" in found:
        console.print(f"Without a parallel file system: {found['skipped']}.\n")
        return
    console.print(_table(found))
    console.print(f"  {limit_text(found)} {why_text(found['points'][-1])}\n")


def _table(found: dict):
    what = f"{units.size(found['file_bytes'])} from {found['storage']}, emulated, by many tasks"
    result = table(
        f"{what} on {found['ranks']} ranks" if found["ranks"] > 1 else f"{what} in one process",
        "tasks", "each for itself", "of the limit", "Forebay", "of the limit", "faster",
        right=(0, 1, 2, 3, 4),
    )  # fmt: skip
    for point in found["points"]:
        naive, ours = point["runs"]["naive"], point["runs"]["forebay"]
        result.add_row(
            units.count(point["tasks"]),
            units.duration(naive["seconds"]),
            f"{naive['of_limit']:.0%}",
            f"[bold]{units.duration(ours['seconds'])}[/]",
            f"[bold]{ours['of_limit']:.0%}[/]",
            faster_text(naive["seconds"], ours["seconds"]),
        )
    return result


def faster_text(naive_s: float, forebay_s: float) -> str:
    """Who is faster, and how much."""
    if naive_s >= forebay_s:
        return f"[green]Forebay, {units.number(naive_s / forebay_s)} times[/]"
    return f"[red]each for itself, {units.number(forebay_s / naive_s)} times[/]"


def limit_text(found: dict) -> str:
    rate = units.rate(found["file_bytes"] / found["limit_s"])
    return f"The limit is {rate}, what all its servers give together."


def why_text(point: dict) -> str:
    """What servers did with so many tasks."""
    naive, ours = point["runs"]["naive"], point["runs"]["forebay"]
    return (
        f"With {units.count(point['tasks'])} tasks that read for themselves {_work(naive)}; "
        f"through Forebay {_work(ours)}."
    )


def _work(run: dict) -> str:
    requests = sum(one["requests"] for one in run["servers"])
    bytes_read = sum(one["requests"] * one["mean_bytes"] for one in run["servers"])
    names = sum(one["requests"] for one in run["metadata"])
    return (
        f"servers are busy for {mean(one['busy'] for one in run['servers']):.0%} of the time "
        f"({units.count(requests)} requests of {units.size(bytes_read / max(1, requests))}), "
        f"those of metadata for {max((one['busy'] for one in run['metadata']), default=0):.0%} "
        f"({units.count(names)})"
    )
