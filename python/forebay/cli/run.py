# SPDX-License-Identifier: Apache-2.0
"""`forebay run`: runs a program, unchanged, and reads ahead for it."""

import sys
from pathlib import Path

import click

from forebay import run_job
from forebay.cli.output import json_option, plot_option, write_json
from forebay.errors import ForebayError


@click.command(
    name="run",
    short_help="Run a program, and read ahead for it.",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("command_line", metavar="-- COMMAND...", nargs=-1, required=True)
@click.option("--no-profile", is_flag=True, help="Neither use nor keep what runs have read.")
@click.option(
    "--profiles", metavar="DIR", type=click.Path(path_type=Path), help="Profiles [cache]."
)
@click.option(
    "--hints",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Hint file of coming reads, from an export or from sources.",
)
@click.option("--report", "is_reported", is_flag=True, help="Print a report to standard error.")
@plot_option("the time of the run, and the reads of each file,")
@json_option
def command(command_line, is_reported, plot_file, json_file, **choices):
    """Run COMMAND with its arguments, and read ahead for it into the page cache.

    Forebay records what the program reads, predicts the next reads, and remembers them for the next
    run. It never changes what the program reads. See docs/guides/run.md."""
    words = list(command_line)
    is_shown = bool(is_reported or json_file or plot_file)
    code, document = run_job.run(words, _options(**choices), is_shown)
    if document is not None:
        try:
            _show(document, is_reported, plot_file, json_file)
        except ForebayError as error:
            raise ForebayError(str(error), code or error.exit_code) from None
    sys.exit(code)


def _show(document: dict, is_reported: bool, plot_file: str | None, json_file: str | None) -> None:
    from forebay.report import run_report
    from forebay.report.terminal import make_console

    if json_file:
        write_json(document, json_file)
    if is_reported:
        run_report.print_report(make_console(is_error=True), document)
    if plot_file:
        run_report.draw_report(document, Path(plot_file))


def _options(no_profile: bool, profiles: Path | None, hints: Path | None) -> run_job.RunOptions:
    folder = None if no_profile else profiles or run_job.default_profiles()
    return run_job.RunOptions(folder and folder.absolute(), hints and hints.absolute())
