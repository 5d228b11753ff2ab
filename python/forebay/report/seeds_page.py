# SPDX-License-Identifier: Apache-2.0
"""The page of `forebay study seeds --html`: published numbers beside simulated ones."""

from pathlib import Path

from forebay import __version__, atomic_output
from forebay.bluegene_study import FITTED
from forebay.ckio_study import NAIVE, SESSION
from forebay.report import page
from forebay.report.seed_figures import figures_of
from forebay.report.seed_tables import agreement_text, seed_tables

TEMPLATE = "seeds_page.html.j2"
COMMAND = "forebay study seeds --html seeds.html"


def write_page(document: dict, path: Path) -> None:
    """Writes the page of a document of forebay.seeds_study."""
    atomic_output.write_text(path, make_page(document))


def make_page(document: dict) -> str:
    figures = figures_of(document)
    sections = [
        {"table": one, "figure": page.script_json(figures[one.id]) if one.id in figures else None}
        for one in seed_tables(document)
    ]
    return page.render(
        TEMPLATE,
        title="Published tables beside Forebay's models",
        sentences=sentences(document),
        sections=sections,
        facts=[("version", f"Forebay {__version__}")],
        command=COMMAND,
    )


def sentences(document: dict) -> list[str]:
    """The results in a few lines, the most important first."""
    bluegene, flat = document["bluegene"], document["ckio"]["flat"]
    factors = [f"{one['factor']:.2f} on {name}" for name, one in bluegene["approaches"].items()]
    return [
        f"Fitted with four constants, 15 cells: {agreement_text(bluegene['actual'][FITTED])}.",
        f"From descriptions alone, our best / theirs is within a factor of {', '.join(factors)}.",
        f"Perceived bandwidth: {agreement_text(bluegene['perceived'])}.",
        f"Reading with 32 to 16384 tasks: longest / shortest time {flat[SESSION]:.2f} with a "
        f"session, {flat[NAIVE]:.2f} if each task opens the file.",
    ]
