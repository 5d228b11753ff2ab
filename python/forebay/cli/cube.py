# SPDX-License-Identifier: Apache-2.0
"""`forebay cube`: forebay-cube with its answers as tables."""

import click

from forebay import native
from forebay.cli.output import json_option, report

PROGRAM = "forebay-cube"
RANKS_PROGRAM = "forebay-cube-mpi"
EXIT_PROBLEMS = 3  # damage or differences; the answer is complete


@click.group(name="cube", short_help="Cube profiles.")
def command():
    """Look into, check, make, compare and remap profiles (.cubex of Score-P and Scalasca)."""


def ask(
    action: str,
    files: tuple[str, ...],
    options: dict,
    answers: tuple[int, ...] = (0,),
    ranks: int | None = None,
) -> native.Answer:
    """Calls forebay-cube, or its sister for several ranks, and shows its progress."""
    from forebay.report.terminal import progress

    arguments = [action, *files, *native.options_of(options)]
    program = PROGRAM if ranks is None else RANKS_PROGRAM
    with progress() as on_progress:
        return native.call(program, arguments, on_progress, answers, ranks)


profile_argument = click.argument("file", type=click.Path())


@command.command(short_help="What a profile holds.")
@profile_argument
@json_option
def info(file, json_file):
    """What FILE holds: metrics, call paths, locations, and how they are stored."""
    document = native.call(PROGRAM, ["info", file]).document
    report(document, json_file, lambda console: _tables().print_profile(console, document))


@command.command(short_help="Read all of it and look for damage.")
@profile_argument
@json_option
def check(file, json_file):
    """Read all of FILE and look for damage; exit code 3 if there is some."""
    answer = ask("check", (file,), {}, (0, EXIT_PROBLEMS))
    document = answer.document
    report(document, json_file, lambda console: _tables().print_check(console, document))
    return answer.exit_code


@command.command(short_help="Make a profile of any size.")
@profile_argument
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Its locations [65535].")
@click.option("--metrics", type=click.IntRange(1), metavar="N", help="Its metrics [11].")
@click.option("--cnodes", type=click.IntRange(1), metavar="N", help="Its call paths [56].")
@click.option(
    "--rows", type=click.IntRange(1), metavar="N", help="Rows of all metrics [614: two less]."
)
@click.option("--type", metavar="NAME", help="Type of all values, as in INT16 or NDOUBLES(4).")
@click.option("--index", type=click.Choice(["sparse", "dense"]), help="[sparse]")
@click.option("--byte-order", type=click.Choice(["little", "big"]), help="[little]")
@click.option("--compress", is_flag=True, help="Compress rows (zlib).")
@click.option("--level", type=click.IntRange(1, 9), metavar="N", help="How hard [6].")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Same seed, same file [1].")
@click.option("--workers", type=click.IntRange(1), metavar="N", help="Threads of ours [all cores].")
@json_option
def generate(file, json_file, **options):
    """Make FILE: a profile of a program with processes and threads, as large as you like."""
    document = ask("generate", (file,), options).document
    report(document, json_file, lambda console: _tables().print_generated(console, document))


@command.command(short_help="Where two profiles differ.")
@click.argument("first", type=click.Path())
@click.argument("second", type=click.Path())
@click.option(
    "--absolute", type=click.FloatRange(0), metavar="X", help="Differences to overlook [0]."
)
@click.option("--relative", type=click.FloatRange(0), metavar="X", help="The same, relative [0].")
@click.option("--shown", type=click.IntRange(0), metavar="N", help="Examples for a metric [5].")
@json_option
def diff(first, second, json_file, **options):
    """Where FIRST and SECOND differ: in what they describe, then in values; exit code 3 if so."""
    answer = ask("diff", (first, second), options, (0, EXIT_PROBLEMS))
    document = answer.document
    report(document, json_file, lambda console: _tables().print_difference(console, document))
    return answer.exit_code


@command.command(short_help="Compute other metrics of a profile.")
@profile_argument
@click.option("-o", "--output", required=True, type=click.Path(), help="The new profile.")
@click.option("-r", "--spec", type=click.Path(), help="A specification [the one inside FILE].")
@click.option("--no-spec", is_flag=True, help="Leave the one inside FILE alone.")
@click.option("--select", multiple=True, metavar="METRIC", help="Write these, nothing else.")
@click.option("--inclusive", multiple=True, metavar="METRIC", help="Store it with what is below.")
@click.option("--exclusive", multiple=True, metavar="METRIC", help="Store it without these.")
@click.option("--compress", is_flag=True, help="Compress rows (zlib).")
@click.option("--level", type=click.IntRange(1, 9), metavar="N", help="How hard [6].")
@click.option("--threads", type=click.IntRange(1), metavar="N", help="That compute [all cores].")
@click.option("--memory", metavar="SIZE", help="For input rows that are needed again [128MiB].")
@click.option("--ranks", type=click.IntRange(1), metavar="N", help="Ranks of MPI [no MPI].")
@json_option
def remap(file, json_file, ranks, **options):
    """Write a profile with the metrics that a remapping specification makes of those of FILE."""
    for name in ("select", "inclusive", "exclusive"):
        options[name] = "\n".join(options[name]) or None
    document = ask("remap", (file,), options, ranks=ranks).document
    report(document, json_file, lambda console: _tables().print_remapped(console, document))


def _tables():
    from forebay.report import cube_tables

    return cube_tables
