# SPDX-License-Identifier: Apache-2.0
"""Pages with plots: one file that needs no other file and no network."""

import re
from pathlib import Path

import jinja2
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from forebay.report import kernel_summary as summary
from forebay.report import units
from forebay.report.bench_table import machine_line


def render(template: str, **values) -> str:
    """A page of a template that extends page.html.j2. `values` has what both templates use."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template(template).render(plotly=Markup(get_plotlyjs()), **values)
    return page.encode("utf-8", "backslashreplace").decode("utf-8")


def script_json(figure) -> Markup:
    """A figure as JSON that ends no script element."""
    return Markup(figure.to_json().replace("<", "\\u003c"))


def cell(value: dict | None, metric: str) -> dict:
    """A metric of a backend as texts {"value","range"}; `value` is one of metrics.summarize()."""
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
