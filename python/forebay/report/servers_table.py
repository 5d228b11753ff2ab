# SPDX-License-Identifier: Apache-2.0
"""Many tasks on a parallel file system, in the terminal: times, and their cause in one sentence."""

from statistics import mean

from forebay.report import units
from forebay.report.terminal import table


def print_servers(console, results: dict) -> None:
    """Prints a document of servers.to_document()."""
    if "skip_reason" in results:
        console.print(f"Without a parallel file system: {results['skip_reason']}.\n")
        return
    console.print(_table(results))
    console.print(f"  {limit_text(results)} {explain_servers(results['points'][-1])}\n")


def _table(results: dict):
    what = f"{units.size(results['file_bytes'])} from {results['storage']}, emulated, by many tasks"
    result = table(
        f"{what} on {results['ranks']} ranks" if results["ranks"] > 1 else f"{what} in one process",
        "tasks", "each alone", "of the limit", "Forebay", "of the limit", "faster",
        right=(0, 1, 2, 3, 4),
    )  # fmt: skip
    for point in results["points"]:
        naive, ours = point["runs"]["naive"], point["runs"]["forebay"]
        result.add_row(
            units.count(point["tasks"]),
            units.duration(naive["seconds"]),
            f"{naive['of_limit']:.0%}",
            f"[bold]{units.duration(ours['seconds'])}[/]",
            f"[bold]{ours['of_limit']:.0%}[/]",
            speedup_text(naive["seconds"], ours["seconds"]),
        )
    return result


def speedup_text(naive_s: float, forebay_s: float) -> str:
    """The faster reader, and by which factor."""
    if naive_s >= forebay_s:
        return f"[green]Forebay, {units.number(naive_s / forebay_s)} times[/]"
    return f"[red]each alone, {units.number(forebay_s / naive_s)} times[/]"


def limit_text(results: dict) -> str:
    rate = units.rate(results["file_bytes"] / results["limit_s"])
    return f"The limit is {rate}, the bandwidth of all its servers together."


def explain_servers(point: dict) -> str:
    """The load of the servers with this number of tasks."""
    naive, ours = point["runs"]["naive"], point["runs"]["forebay"]
    return (
        f"With {units.count(point['tasks'])} tasks that each read alone, {_load(naive)}; "
        f"through Forebay {_load(ours)}."
    )


def _load(run: dict) -> str:
    requests = sum(one["requests"] for one in run["servers"])
    bytes_read = sum(one["requests"] * one["mean_bytes"] for one in run["servers"])
    names = sum(one["requests"] for one in run["metadata"])
    return (
        f"servers are busy for {mean(one['busy'] for one in run['servers']):.0%} of the time "
        f"({units.count(requests)} requests of {units.size(bytes_read / max(1, requests))}), "
        f"metadata servers for {max((one['busy'] for one in run['metadata']), default=0):.0%} "
        f"({units.count(names)})"
    )
