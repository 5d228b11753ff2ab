# SPDX-License-Identifier: Apache-2.0
"""`forebay hints`: writes hint files from sources of programs."""

from pathlib import Path

import click

from forebay import atomic_output
from forebay.cli.output import check_new_file, json_option, print_line, report
from forebay.errors import ForebayError
from forebay.report import units


@click.group(name="hints", short_help="Write hints of coming reads from sources.")
def command():
    """Write hints of coming reads from sources of programs. `forebay trace hints` writes them from
    a recorded run."""


@command.command(short_help="Write a hint file from the loops of a C source.")
@click.argument("source", type=click.Path())
@click.argument("compiler_args", nargs=-1, type=click.UNPROCESSED)
@click.option("-o", "--output", "file", metavar="FILE", help="Hint file; by default SOURCE.hints.")
@click.option(
    "--path",
    "pattern",
    default="*",
    show_default=True,
    metavar="PATTERN",
    help="Files that the hints are for, as fnmatch(3) compares them.",
)
@json_option
def extract(source, compiler_args, file, pattern, json_file):
    """Find the loops of a C source around read, pread, fread and MPI_File_read_at, and write their
    reads as hints with parameters (docs/formats/hints.md#parameters). Reads and loops that a hint
    cannot express are printed with line and reason.

    Options of the compiler follow SOURCE after --, such as -- -Iinclude -DN=4."""
    from forebay import source_hints, trace_hints

    file = check_new_file(file or f"{Path(source).stem}.hints")
    found, left_out = source_hints.extract(source, pattern, list(compiler_args))
    lines = [f"{source}:{one['line']}: {one['why']}" for one in left_out]
    if not found:
        raise ForebayError("; ".join([f"{source} has no loop for a hint", *lines]))
    atomic_output.write_text(file, trace_hints.to_toml(found))
    head = f"{file}: {units.items(len(found), 'hint')}"
    document = {"hints": found, "left_out": left_out}
    report(document, json_file, lambda _: print_line(json_file, "\n".join([head, *lines])))
