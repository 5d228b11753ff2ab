# SPDX-License-Identifier: Apache-2.0
"""`forebay machine`: the machine files that there are, and what they say."""

import click

from forebay import native
from forebay.cli.output import json_option, report

PROGRAM = "forebay-machine"


@click.group(name="machine", short_help="Machine files.")
def command():
    """Descriptions of parallel storage: what emufs behaves like, and what plans are chosen for."""


@command.command(name="list", short_help="The machines that there are.")
@json_option
def list_command(json_file):
    """The machines that are known by name."""
    document = native.call(PROGRAM, ["list"]).document
    report(document, json_file, lambda console: _tables().print_machines(console, document))


@command.command(short_help="What a machine is, with the source of each number.")
@click.argument("machine", metavar="NAME|FILE")
@click.option("--toml", is_flag=True, help="Print its file instead, complete with all defaults.")
@json_option
def show(machine, toml, json_file):
    """Every number of a machine, with its source."""
    document = native.call(PROGRAM, ["show", machine]).document
    if toml:
        report(document, json_file, lambda console: click.echo(document["toml"], nl=False))
        return
    report(document, json_file, lambda console: _tables().print_machine(console, document))


@command.command(short_help="Whether a file is a machine file.")
@click.argument("file", type=click.Path())
@json_option
def check(file, json_file):
    """Read FILE and say what is wrong with it, by line; numbers without a source are named."""
    path = file if "/" in file else f"./{file}"  # a file, even if a machine has this name
    document = native.call(PROGRAM, ["show", path]).document
    report(document, json_file, lambda console: _tables().print_check(console, document))


def _tables():
    from forebay.report import machine_tables

    return machine_tables
