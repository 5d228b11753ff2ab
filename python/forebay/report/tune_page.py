# SPDX-License-Identifier: Apache-2.0
"""The page of `forebay explain --html`: one file that needs no other file and no network."""

from pathlib import Path

from forebay import atomic_output
from forebay.report import page, tune_tables, units
from forebay.report import tune_figures as figures

TEMPLATE = "tune_page.html.j2"
TEXTS = {
    "measured": {
        "title": "Measured plans",
        "text": "Seconds until a step is durable: the median, and lines from the shortest to the"
        " longest run. The fastest plans, and the default.",
    },
    "surface": {
        "title": "Writers and files",
        "text": "Seconds of a step by the surrogate, for the strategy and the sizes of the best"
        " plan. If that strategy fixes writers or files: of the fastest plan of each cell. Circles"
        " are measured plans, with any size. An empty cell has no plan.",
    },
    "slices": {
        "title": "Sizes",
        "text": "Seconds by the surrogate if one value of the best plan changes. Lines are two"
        " standard deviations of the mean.",
    },
    "effects": {
        "title": "Which parameter matters",
        "text": "Variance of the mean of each value, by the surrogate, as a share of all"
        " parameters. Interactions are not included.",
    },
}


def write_page(document: dict, path: Path) -> None:
    """Writes the page of a document of forebay.tune.explanation.explain()."""
    atomic_output.write_text(path, make_page(document))


def make_page(document: dict) -> str:
    entry = document["entry"]
    return page.render(
        TEMPLATE,
        title=f"The write plan for {entry['ranks']} ranks",
        sentences=document["sentences"],
        sections=[
            {"id": name, "figure": page.script_json(figure), **TEXTS[name]}
            for name in TEXTS
            if (figure := getattr(figures, name)(document)) is not None
        ],
        rows=[
            {
                "plan": tune_tables.plan_text(one["plan"]),
                "seconds": tune_tables.seconds_text(one["seconds"]),
                "over_best": units.number(one["over_best"]) if one["seconds"] else "–",
                "predicted": units.duration(one["predicted_s"]) if one.get("predicted_s") else "–",
                "runs": len(one["seconds"]) + one["failures"],
                "failures": one["failures"],
            }
            for one in document["points"]
        ],
        facts=[
            ("machine", entry["machine"] or "no machine file"),
            ("ranks", f"{units.count(entry['ranks'])} on {units.items(entry['nodes'], 'node')}"),
            ("bytes of a rank", f"{units.size(entry['rank_bytes'])} a step"),
            ("imbalance", units.number(entry["imbalance"])),
            ("searches", units.count(entry["runs"])),
        ],
        command="",
    )
