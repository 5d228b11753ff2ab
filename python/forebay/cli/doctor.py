# SPDX-License-Identifier: Apache-2.0
"""`forebay doctor`: examines the machine and one directory, and prints facts and advice."""

import click

from forebay import native
from forebay.cli.output import json_option, report


@click.command(name="doctor", short_help="Report what Forebay can use.")
@click.option(
    "--dir",
    "folder",
    default=".",
    show_default=True,
    type=click.Path(),
    help="Directory whose storage is examined and measured.",
)
@click.option(
    "--no-measure",
    is_flag=True,
    help="Do not measure rates (otherwise at most 256 MiB and 10 s; the file is removed).",
)
@json_option
def command(folder, no_measure, json_file):
    """Report what Forebay can use here (io_uring, memory limits, direct access, FUSE, /dev/shm),
    how fast the storage is, and what to change, if anything."""
    document = examine(folder, not no_measure)
    report(document, json_file, lambda console: _tables().print_examination(console, document))


def examine(folder: str, is_measured: bool = True) -> dict:
    """The facts that the native tool and Python collect, with the resulting advice."""
    from dataclasses import asdict

    from forebay.advice import advise
    from forebay.host_info import collect_host_info
    from forebay.report.terminal import progress

    with progress() as on_progress:
        found = native.tools().examine_machine(folder, measure=is_measured, progress=on_progress)
        document = {**found, **collect_host_info()}
    document["advice"] = [asdict(one) for one in advise(document)]
    return document


def _tables():
    from forebay.report import doctor_tables

    return doctor_tables
