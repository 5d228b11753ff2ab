# SPDX-License-Identifier: Apache-2.0
"""`forebay run`: runs a program, unchanged, and reads ahead for it."""

import contextlib
import sys
from pathlib import Path

import click

from forebay import run_job
from forebay.cli.output import json_option, report
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
@click.option("--report", "is_reported", is_flag=True, help="Print a report at the end.")
@json_option
def command(command_line, no_profile, profiles, is_reported, json_file):
    """Run COMMAND with its arguments, and read ahead for it into the page cache.

    Forebay records what the program reads, predicts the next reads, and remembers them for the next
    run. It never changes what the program reads. See docs/guides/run.md."""
    words = list(command_line)
    if run_job.is_off():
        sys.exit(run_job.run_program(words, run_job.environment(None)))
    folder = None if no_profile else profiles or run_job.default_profiles()
    with _agent(run_job.RunOptions(folder and folder.absolute())) as agent:
        code = run_job.run_program(words, run_job.environment(agent))
        document = agent.end() if agent else None
    if document is not None and (is_reported or json_file):
        report(document, json_file, lambda console: _print(console, document))
    sys.exit(code)


def _agent(options):
    """A context of the job's agent; of None, with a warning, if there is none."""
    try:
        return run_job.find_agent(options)
    except ForebayError as error:
        click.echo(f"forebay: warning: {error}; the program runs without foresight", err=True)
        return contextlib.nullcontext()


def _print(console, document: dict) -> None:
    from forebay.report.run_report import print_report

    print_report(console, document)
