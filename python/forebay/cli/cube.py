# SPDX-License-Identifier: Apache-2.0
"""`forebay cube`: runs forebay-cube and prints its results as tables."""

import click

from forebay import native
from forebay.cli.output import json_option, report
from forebay.cli.ranks import launcher_option, ranks_of

PROGRAM = "forebay-cube"
RANKS_PROGRAM = "forebay-cube-mpi"
EXIT_PROBLEMS = 3  # damage or differences; the document is complete


@click.group(name="cube", short_help="Cube profiles.")
def command():
    """Inspect, check, generate, compare and remap profiles (.cubex of Score-P and Scalasca)."""


def run_native(
    action: str,
    files: tuple[str, ...],
    options: dict,
    accepted_codes: tuple[int, ...] = (0,),
    ranks: native.Ranks | None = None,
) -> native.ProgramResult:
    """Runs forebay-cube, or its MPI variant for several ranks, and shows its progress."""
    from forebay.report.terminal import progress

    arguments = [action, *files, *native.option_arguments(options)]
    program = PROGRAM if ranks is None else RANKS_PROGRAM
    with progress() as on_progress:
        return native.run_program(program, arguments, on_progress, accepted_codes, ranks)


profile_argument = click.argument("file", type=click.Path())


@command.command(short_help="Print the contents of a profile.")
@profile_argument
@json_option
def info(file, json_file):
    """Print metrics, call paths and locations of FILE, and how they are stored."""
    document = native.run_program(PROGRAM, ["info", file]).document
    report(document, json_file, lambda console: _tables().print_profile(console, document))


@command.command(short_help="Read all of a profile and report damage.")
@profile_argument
@json_option
def check(file, json_file):
    """Read all of FILE and report damage; exit code 3 if there is any."""
    result = run_native("check", (file,), {}, (0, EXIT_PROBLEMS))
    document = result.document
    report(document, json_file, lambda console: _tables().print_check(console, document))
    return result.exit_code


@command.command(short_help="Generate a profile of any size.")
@profile_argument
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Locations [65535].")
@click.option("--metrics", type=click.IntRange(1), metavar="N", help="Metrics [11].")
@click.option("--cnodes", type=click.IntRange(1), metavar="N", help="Call paths [56].")
@click.option(
    "--rows", type=click.IntRange(1), metavar="N", help="Rows of all metrics [614: all but two]."
)
@click.option("--type", metavar="NAME", help="Type of all values, such as INT16 or NDOUBLES(4).")
@click.option("--index", type=click.Choice(["sparse", "dense"]), help="Index of rows [sparse].")
@click.option("--byte-order", type=click.Choice(["little", "big"]), help="Byte order [little].")
@click.option("--compress", is_flag=True, help="Compress rows (zlib).")
@click.option("--level", type=click.IntRange(1, 9), metavar="N", help="Compression level [6].")
@click.option(
    "--seed", type=click.IntRange(0), metavar="N", help="The same seed gives the same file [1]."
)
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Threads to use [all cores].")
@json_option
def generate(file, json_file, **options):
    """Write FILE: a profile of a program with processes and threads, of any size."""
    document = run_native("generate", (file,), options).document
    report(document, json_file, lambda console: _tables().print_generated(console, document))


@command.command(short_help="Compare two profiles.")
@click.argument("first", type=click.Path())
@click.argument("second", type=click.Path())
@click.option(
    "--absolute", type=click.FloatRange(0), metavar="X", help="Ignore differences up to X [0]."
)
@click.option("--relative", type=click.FloatRange(0), metavar="X", help="Or up to X, relative [0].")
@click.option("--shown", type=click.IntRange(0), metavar="N", help="Examples for each metric [5].")
@json_option
def diff(first, second, json_file, **options):
    """Report where FIRST and SECOND differ: in structure, then in values; exit code 3 if so."""
    result = run_native("diff", (first, second), options, (0, EXIT_PROBLEMS))
    document = result.document
    report(document, json_file, lambda console: _tables().print_difference(console, document))
    return result.exit_code


@command.command(short_help="Compute other metrics of a profile.")
@profile_argument
@click.option("-o", "--output", required=True, type=click.Path(), help="The new profile.")
@click.option("-r", "--spec", type=click.Path(), help="Specification [the one in FILE].")
@click.option("--no-spec", is_flag=True, help="Ignore the specification in FILE.")
@click.option("--select", multiple=True, metavar="METRIC", help="Write only these metrics.")
@click.option("--inclusive", multiple=True, metavar="METRIC", help="Store it with all below.")
@click.option("--exclusive", multiple=True, metavar="METRIC", help="Store it without those.")
@click.option("--compress", is_flag=True, help="Compress rows (zlib).")
@click.option("--level", type=click.IntRange(1, 9), metavar="N", help="Compression level [6].")
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads to use [all cores].")
@click.option(
    "--memory", metavar="SIZE", help="Memory for input rows that are used again [128MiB]."
)
@click.option("--ranks", type=click.IntRange(1), metavar="N", help="MPI ranks [no MPI].")
@launcher_option
@json_option
def remap(file, json_file, ranks, launcher, **options):
    """Write a profile with metrics that a remapping specification computes from those of FILE."""
    for name in ("select", "inclusive", "exclusive"):
        options[name] = "\n".join(options[name]) or None
    document = run_native("remap", (file,), options, ranks=ranks_of(ranks, launcher)).document
    report(document, json_file, lambda console: _tables().print_remapped(console, document))


def _tables():
    from forebay.report import cube_tables

    return cube_tables
