# SPDX-License-Identifier: Apache-2.0
"""Results of the demo in the terminal: physics first, then time and memory."""

from pathlib import Path

from forebay.report import units
from forebay.report.servers_table import print_servers
from forebay.report.terminal import facts, table
from forebay.report.tipsy_tables import physics_rows, vector

READER_NAMES = {"ifstream": "std::ifstream", "forebay": "Forebay"}
STATE_TEXTS = {
    "cold": "from storage (the file was dropped from the page cache before each run)",
    "warm": "from the page cache",
}


def print_demo(console, document: dict) -> None:
    analysis = document["analysis"]
    name = Path(analysis["snapshot"]["path"]).name
    rows = physics_rows(analysis)
    rows.append(("theory", _theory(document["model"])))
    console.print(facts(f"{name}: results of the analysis", rows))
    for state, text in STATE_TEXTS.items():
        console.print(_time_table(f"Read {text}", document[state]))
        console.print(f"  {speedup_text(document[state]['over_ifstream'])}\n")
    console.print("Both readers give the same results to the last bit.\n")
    console.print(_tasks_table(document["many_tasks"]))
    console.print(f"  {tasks_text(document['many_tasks']['points'])}\n")
    print_servers(console, document["servers"])
    if document["samples"]:
        console.print(_sample_table(document["samples"]))


def _theory(model: dict) -> str:
    return (
        f"mass {model['total_mass']:g}, velocity dispersion {model['dispersion']:.5g} "
        f"(Plummer sphere, a = {model['scale_radius']:g})"
    )


def speedup_text(ratio: dict) -> str:
    """One sentence: the ratio and its certainty; red if Forebay is slower."""
    runs, faster = ratio["runs"], ratio["pairs_faster"]
    spread = units.quantity_range(*ratio["spread"], ratio["unit"])
    value = f"{units.number(ratio['value'])} of the time (pairs: {spread})"
    if faster == runs:
        times = units.number(1 / ratio["value"])
        return f"[green]Through Forebay it takes {value}: {times} times as fast.[/]"
    if faster == 0:
        return f"[red]Through Forebay it takes {value}: slower.[/]"
    return f"[yellow]Through Forebay it takes {value}: faster in {faster} of {runs} pairs.[/]"


def _time_table(title: str, compared: dict):
    result = table(
        title, "reader", "time", "spread", "waiting", "computing (CPU)", "first particle", "memory",
        right=(1, 2, 3, 4, 5, 6),
    )  # fmt: skip
    for reader, name in READER_NAMES.items():
        one = compared[reader]
        result.add_row(
            name,
            f"[bold]{units.duration(one['total_s']['value'])}[/]",
            units.quantity_range(*one["total_s"]["spread"], "s"),
            units.duration(one["waiting_s"]["value"]),
            units.duration(one["computing_cpu_s"]["value"]),
            units.duration(one["first_particle_s"]["value"]),
            units.size(one["peak_pss_bytes"]["value"]),
        )
    return result


def _tasks_table(results: dict):
    where = f"on {results['ranks']} ranks" if results["ranks"] > 1 else "in one process"
    result = table(
        f"{units.size(results['file_bytes'])} from storage by many tasks {where}",
        "tasks", "each alone", "Forebay", "of the time", "computed meanwhile", "with Forebay",
        right=(0, 1, 2, 3, 4, 5),
    )  # fmt: skip
    for point in results["points"]:
        result.add_row(
            units.count(point["tasks"]),
            units.duration(point["times_s"]["naive"]["value"]),
            f"[bold]{units.duration(point['times_s']['forebay']['value'])}[/]",
            units.number(point["over_naive"]["value"]),
            f"{point['computing']['naive']['value']:.0%}",
            f"[bold]{point['computing']['forebay']['value']:.0%}[/]",
        )
    return result


def tasks_text(points: list[dict]) -> str:
    """The spread of times, and the remaining speed of a computation on the same threads."""
    flat = {reader: _slowest_by_fastest(points, reader) for reader in ("naive", "forebay")}
    shares = sorted(point["computing"]["forebay"]["value"] for point in points)
    longer = sorted(point["longer"]["value"] for point in points)
    return (
        f"Slowest / fastest: {flat['forebay']} through Forebay, {flat['naive']} without. A "
        f"computation between the tasks keeps {shares[0]:.0%} to {shares[-1]:.0%} of its speed, "
        f"and reading takes {units.number(longer[0])} to {units.number(longer[-1])} times as long "
        "as without it."
    )


def _slowest_by_fastest(points: list[dict], reader: str) -> str:
    times = [point["times_s"][reader]["value"] for point in points]
    return units.number(max(times) / min(times))


def _sample_table(samples: list[dict]):
    result = table(
        "Real snapshots (FOREBAY_SAMPLES)",
        "file", "particles", "mass", "center of mass", "dispersion", "time",
        right=(1, 2, 4, 5),
    )  # fmt: skip
    for one in samples:
        result.add_row(
            Path(one["snapshot"]["path"]).name,
            units.count(one["snapshot"]["counts"]["total"]),
            f"{one['mass']:.5g}",
            vector(one["center_of_mass"]),
            f"{one['velocity_dispersion']['total']:.4g}",
            units.duration(one["times_s"]["total"]),
        )
    return result
