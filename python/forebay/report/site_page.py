# SPDX-License-Identifier: Apache-2.0
"""The page of `forebay bench site --html`."""

from pathlib import Path

from forebay import atomic_output
from forebay.report import kernel_figures as figures
from forebay.report import kernel_summary as summary
from forebay.report import page, units

TEMPLATE = "site_page.html.j2"
# Of the table; those that no backend has are left out.
COLUMNS = {
    "blocked_s": "blocked by I/O",
    "total_s": "application",
    "durable_s": "until durable",
    "perceived_mb_s": "perceived",
    "durable_mb_s": "durable",
    "read_mb_s": "read",
    "files": "files",
    "memory_max_bytes": "memory of a rank",
}
NAMES = {"none": "computation alone"}
READING = ("blocked_s", "read_mb_s", "memory_max_bytes")
CAPTIONS = {
    "blocked_s": "seconds for which the slowest rank was blocked",
    "total_s": "seconds until the application has ended",
    "durable_s": "seconds until all bytes are on storage",
}


def write_page(document: dict, path: Path) -> None:
    """Writes the page of a document of forebay.benchmarks.site."""
    atomic_output.write_text(path, make_page(document))


def make_page(document: dict) -> str:
    parameters = document["parameters"]
    scenarios = parameters.get("scenarios", [])
    skipped: dict[str, list[str]] = {}
    for name, why in document["skipped"].items():
        skipped.setdefault(why, []).append(name)
    libraries: dict[str, str] = {}
    for one in scenarios:
        libraries |= one["libraries"]
    mpi = ", ".join(sorted({one["mpi"] for one in scenarios if one["mpi"]}))
    origin = parameters | {"libraries": libraries, "mpi": mpi, "machine": document["machine"]}
    return page.render(
        TEMPLATE,
        title=f"I/O of {units.items(parameters.get('ranks', 0), 'rank')}: Forebay beside others",
        sentences=list(map(sentence, scenarios)) or ["No part has completed."],
        scenarios=list(map(scenario_texts, scenarios)),
        skipped=skipped,
        facts=page.facts(origin),
        command=parameters.get("command", ""),
    )


def sentence(scenario: dict) -> str:
    """The best of Forebay, and the best of all others."""
    compared = scenario["compared"].get(scenario["metrics"][0])
    if compared is None:
        return f"{scenario['title']}: no comparison."
    own, other = compared["own"], compared["other"]
    taken = scenario["summaries"][own][scenario["metrics"][0]]
    text = f"{scenario['title']}: {own} took {units.duration(taken['value'])}, and {other}"
    return f"{text} {summary.factor_text(compared['factor'])}."


def scenario_texts(scenario: dict) -> dict:
    first = scenario["metrics"][0]
    found = scenario["summaries"]
    ordered = dict(sorted(found.items(), key=lambda one: one[1][first]["value"]))
    named = {NAMES.get(name, name): one for name, one in ordered.items()}
    shown = [one for one in figures.TIMES if one[0] in scenario["metrics"]]
    reads = any("read_mb_s" in one for one in found.values())
    columns = {
        metric: name
        for metric, name in COLUMNS.items()
        if any(metric in one for one in found.values()) and (metric in READING or not reads)
    }
    return {
        "id": scenario["id"],
        "title": scenario["title"],
        "about": f"{scenario['about']}; {units.size(scenario['bytes_per_rank'])} of a rank",
        "caption": f"{'; '.join(CAPTIONS[one] for one in scenario['metrics'])}.",
        "figure": page.script_json(figures.points(named, tuple(shown), "s")),
        "columns": list(columns.values()),
        "rows": [
            {"backend": name, "cells": [page.cell(one.get(metric), metric) for metric in columns]}
            for name, one in named.items()
        ],
        "kernel": scenario["kernel"],
        "command": scenario["command"],
    }
