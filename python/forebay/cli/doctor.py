# SPDX-License-Identifier: Apache-2.0
"""`forebay doctor`: looks at the machine and one folder, and says what it means."""

import click

from forebay import native
from forebay.cli.output import json_option, report

PROGRAM = "forebay-doctor"


@click.command(name="doctor", short_help="Look at this machine.")
@click.option(
    "--dir",
    "folder",
    default=".",
    show_default=True,
    type=click.Path(),
    help="The folder whose storage is looked at and measured.",
)
@click.option(
    "--no-measure",
    is_flag=True,
    help="Do not measure rates (else at most 256 MiB and 10 s; the file is removed).",
)
@json_option
def command(folder, no_measure, json_file):
    """What Forebay can use here (io_uring, memory limits, direct access, FUSE, /dev/shm), how fast
    the storage is, and what to do about it, if anything."""
    document = examine(folder, ["--no-measure"] if no_measure else [])
    report(document, json_file, lambda console: _tables().print_examination(console, document))


def examine(folder: str, arguments: list[str]) -> dict:
    """What the native doctor and Python see, with the advice that follows."""
    from dataclasses import asdict

    from forebay.advice import advise
    from forebay.report.terminal import progress
    from forebay.surroundings import look_around

    with progress() as on_progress:
        arguments = ["--dir", folder, *arguments]
        document = {**native.call(PROGRAM, arguments, on_progress).document, **look_around()}
    document["advice"] = [asdict(one) for one in advise(document)]
    return document


def _tables():
    from forebay.report import doctor_tables

    return doctor_tables
