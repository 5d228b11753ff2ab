# SPDX-License-Identifier: Apache-2.0
"""The page of `forebay kernel run --html`: one file that needs no other file and no network."""

import re
from pathlib import Path

import jinja2
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from forebay import atomic_output
from forebay.kernel import run as kernel_run
from forebay.kernel.kernel_file import Kernel
from forebay.kernel.words import describe
from forebay.report import kernel_figures as figures
from forebay.report import kernel_summary as summary
from forebay.report import units
from forebay.report.bench_table import machine_line

TEMPLATE = "kernel_page.html.j2"


def write_page(document: dict, kernel: Kernel, path: Path) -> None:
    """Writes the page of a document of forebay.kernel.run. Runs forebay-kernel for the draws."""
    drawn = kernel_run.draw(kernel, document["ranks"])
    atomic_output.write_text(path, make_page(document, kernel, drawn))


def make_page(document: dict, kernel: Kernel, drawn: dict) -> str:
    """The page as text; `drawn` is a result of forebay.kernel.run.draw()."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    summaries = summary.by_blocked_time(document)
    page = environment.get_template(TEMPLATE).render(
        kernel=describe(kernel, document["ranks"], drawn),
        sentences=summary.sentences(document),
        backends=list(summaries),
        failures=document["failures"],
        error=document["error"],
        sections=sections(document, kernel, drawn),
        rows=metric_rows(summaries),
        facts=facts(document),
        command=document.get("command", ""),
        plotly=Markup(get_plotlyjs()),
    )
    return page.encode("utf-8", "backslashreplace").decode("utf-8")


def sections(document: dict, kernel: Kernel, drawn: dict) -> list[dict]:
    """{"id","title","text","figure"} of each figure, which is JSON for a script element."""
    summaries = summary.by_blocked_time(document)
    found = [("sizes", figures.sizes(kernel, drawn))]
    if summaries:
        found = [
            ("phases", figures.phases(summaries)),
            ("bandwidth", figures.points(summaries, figures.BANDWIDTHS, "MB/s")),
            ("times", figures.points(summaries, figures.TIMES, "s")),
            ("imbalance", figures.imbalance(document, list(summaries))),
            *found,
        ]
    return [
        {"id": name, "figure": _script_json(figure), **TEXTS[name]}
        for name, figure in found
        if figure is not None and figure.data
    ]


TEXTS = {
    "phases": {
        "title": "Phases",
        "text": "Seconds for which the application was blocked: the slowest rank of each step,"
        " summed over steps. Medians of the rounds.",
    },
    "bandwidth": {
        "title": "Bandwidth",
        "text": "Perceived: bytes written / the time for which the application was blocked."
        " Durable: bytes written / the time until all bytes are on storage. Lines are the smallest"
        " and the largest round. A bandwidth without meaning for a run is left out.",
    },
    "times": {
        "title": "Times",
        "text": "The time for which the slowest rank was blocked, the time of the application, and"
        " the time until all bytes are on storage. Lines are the smallest and the largest round.",
    },
    "imbalance": {
        "title": "Imbalance",
        "text": "Seconds for which each rank was blocked in each step, medians of the rounds. The"
        " colors begin at zero and end at the largest value of the backend. A cell of a large run"
        " is the largest of several ranks and steps.",
    },
    "sizes": {
        "title": "Sizes of calls",
        "text": "Share of the calls that are at most as large: of the draws of this run, and of the"
        " distribution in the kernel file. At most six operations are drawn, those with the most"
        " bytes.",
    },
}


def _script_json(figure) -> Markup:
    """JSON that ends no script element."""
    return Markup(figure.to_json().replace("<", "\\u003c"))


def metric_rows(summaries: dict) -> list[dict]:
    """A row for each metric of any backend, with a cell for each backend."""
    first = ("blocked_s", "total_s", "durable_s")
    found = dict.fromkeys([*first, *(metric for one in summaries.values() for metric in one)])
    return [
        {
            "name": summary.name_of(metric),
            "cells": [_cell(one.get(metric), metric) for one in summaries.values()],
        }
        for metric in found
        if summaries
    ]


def _cell(value: dict | None, metric: str) -> dict:
    if value is None:
        return {"value": "–", "range": ""}
    unit = summary.unit_of(metric)
    return {
        "value": summary.quantity(value["value"], unit),
        "range": summary.range_text(value, unit),
    }


def facts(document: dict) -> list[tuple[str, str]]:
    """The machine and the versions of a run. Facts that the document lacks are left out."""
    host, versions = document.get("host", {}), document.get("versions", {})
    machine, folder = document.get("machine") or host.get("machine"), host.get("folder")
    found = [
        ("machine", machine and machine_line(machine)),
        ("topology", host.get("topology", {}).get("summary")),
        ("system", machine and machine.get("system")),
        ("storage", folder and _storage(folder)),
        ("MPI", re.sub(r"\s+", " ", document.get("mpi", ""))),
        ("libraries", ", ".join(document.get("libraries", {}).values())),
        ("versions", ", ".join(f"{name} {one}" for name, one in versions.items() if one)),
        ("started", document.get("started")),
    ]
    return [(name, text) for name, text in found if text]


def _storage(folder: dict) -> str:
    device = folder.get("device") or {}
    parts = [f"{folder['type']} on {folder['source']}", device.get("model", "")]
    parts.append(f"{units.size(folder['free_bytes'])} of {units.size(folder['total_bytes'])} free")
    return ", ".join(part for part in parts if part)
