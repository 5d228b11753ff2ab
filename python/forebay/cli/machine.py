# SPDX-License-Identifier: Apache-2.0
"""`forebay machine`: lists, prints and checks machine files."""

import click

from forebay import native
from forebay.cli.output import json_option, report


@click.group(name="machine", short_help="Show machine files.")
def command():
    """List, show and check descriptions of parallel storage, by which emufs emulates a storage and
    plans are chosen."""


@command.command(name="list", short_help="List machines.")
@json_option
def list_command(json_file):
    """List the machines that are known by name."""
    document = native.tools().list_machines()
    report(document, json_file, lambda console: _tables().print_machines(console, document))


@command.command(short_help="Print a machine, with the source of each number.")
@click.argument("machine", metavar="NAME|FILE")
@click.option("--toml", is_flag=True, help="Print its file, complete with all defaults.")
@json_option
def show(machine, toml, json_file):
    """Print every number of a machine, with its source."""
    document = native.tools().show_machine(machine)
    if toml:
        report(document, json_file, lambda console: click.echo(document["toml"], nl=False))
        return
    report(document, json_file, lambda console: _tables().print_machine(console, document))


@command.command(short_help="Check a machine file.")
@click.argument("file", type=click.Path())
@json_option
def check(file, json_file):
    """Check FILE: report errors by line, and name numbers without a source."""
    path = file if "/" in file else f"./{file}"  # a file, even if a machine has this name
    document = native.tools().show_machine(path)
    report(document, json_file, lambda console: _tables().print_check(console, document))


def _tables():
    from forebay.report import machine_tables

    return machine_tables
