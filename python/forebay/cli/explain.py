# SPDX-License-Identifier: Apache-2.0
"""`forebay explain`: why an entry of a tuning profile has its plan."""

from pathlib import Path

import click

from forebay.cli.output import (
    TUNE_PACKAGES,
    html_option,
    json_option,
    plot_option,
    print_line,
    report,
    require_packages,
)
from forebay.errors import EXIT_USAGE, ForebayError


@click.command(name="explain", short_help="Explain the plan of a tuning profile.")
@click.argument("file", metavar="PROFILE", type=click.Path(exists=True, dir_okay=False))
@click.option("--ranks", metavar="N", type=click.IntRange(1), help="The entry for these ranks.")
@html_option("plots")
@json_option
@plot_option("the time by writers and files")
def command(file, ranks, html_file, json_file, plot_file):
    """Print why the last entry of PROFILE has its plan: what other plans cost, which parameter
    matters, and the confidence."""
    require_packages("forebay explain", TUNE_PACKAGES, "tune")
    from forebay.report import tune_tables
    from forebay.tune.explanation import explain
    from forebay.tune.profile import read_profile

    entries = read_profile(Path(file))
    found = [one for one in entries if ranks in (None, one["ranks"])]
    if not entries:
        message = f"explain {file}: the profile has no entries; forebay tune -o {file} adds one"
        raise ForebayError(message)
    if not found:
        known = ", ".join(str(one["ranks"]) for one in entries)
        message = f"explain {file}: no entry for {ranks} ranks; it has entries for: {known}"
        raise ForebayError(message, EXIT_USAGE)
    document = explain(found[-1])
    report(document, json_file, lambda console: tune_tables.print_explanation(console, document))
    if html_file is not None:
        from forebay.report.tune_page import write_page

        write_page(document, Path(html_file))
        print_line(json_file, f"page: {html_file}")
    if plot_file is not None:
        from forebay.report.tune_plot import draw_surface

        draw_surface(document, Path(plot_file))
        print_line(json_file, f"picture: {plot_file}")
