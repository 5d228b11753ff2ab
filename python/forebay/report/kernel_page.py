# SPDX-License-Identifier: Apache-2.0
"""The page of `forebay kernel run --html`: one file that needs no other file and no network."""

from pathlib import Path

from forebay import atomic_output
from forebay.kernel import run as kernel_run
from forebay.kernel.kernel_file import Kernel
from forebay.kernel.words import describe
from forebay.report import kernel_figures as figures
from forebay.report import kernel_summary as summary
from forebay.report import page

TEMPLATE = "kernel_page.html.j2"


def write_page(document: dict, kernel: Kernel, path: Path) -> None:
    """Writes the page of a document of forebay.kernel.run. Runs forebay-kernel for the draws."""
    drawn = kernel_run.draw(kernel, document["ranks"])
    atomic_output.write_text(path, make_page(document, kernel, drawn))


def make_page(document: dict, kernel: Kernel, drawn: dict) -> str:
    """The page as text; `drawn` is a result of forebay.kernel.run.draw()."""
    summaries = summary.by_blocked_time(document)
    return page.render(
        TEMPLATE,
        title=f"{kernel.name} on {document['ranks']} ranks",
        kernel=describe(kernel, document["ranks"], drawn),
        sentences=summary.sentences(document),
        backends=list(summaries),
        failures=document["failures"],
        error=document["error"],
        sections=sections(document, kernel, drawn),
        rows=metric_rows(summaries),
        facts=page.facts(document),
        command=document.get("command", ""),
    )


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
        {"id": name, "figure": page.script_json(figure), **TEXTS[name]}
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


def metric_rows(summaries: dict) -> list[dict]:
    """A row for each metric of any backend, with a cell for each backend."""
    first = ("blocked_s", "total_s", "durable_s")
    found = dict.fromkeys([*first, *(metric for one in summaries.values() for metric in one)])
    return [
        {
            "name": summary.name_of(metric),
            "cells": [page.cell(one.get(metric), metric) for one in summaries.values()],
        }
        for metric in found
        if summaries
    ]
