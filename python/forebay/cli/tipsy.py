# SPDX-License-Identifier: Apache-2.0
"""`forebay tipsy`: forebay-tipsy with its answers as tables and pictures."""

from pathlib import Path

import click

from forebay import native
from forebay.cli.output import json_option, plot_option, report, say
from forebay.model_note import read_note, write_note

PROGRAM = "forebay-tipsy"
EXIT_PROBLEMS = 3  # `check` found some; its answer is complete


@click.group(name="tipsy", short_help="Tipsy snapshots.")
def command():
    """Make, check and analyse Tipsy snapshots (N-body simulations)."""


def precision_options(function):
    """How numbers are stored, where the file's size leaves a choice."""
    flags = ("single", "double-positions", "double-velocities")
    texts = ("All numbers are 32-bit.", "Positions are 64-bit.", "Velocities are 64-bit.")
    for flag, text in reversed(list(zip(flags, texts, strict=True))):
        function = click.option(f"--{flag}", is_flag=True, help=text)(function)
    return function


def counts_option(function):
    """Which counts are believed."""
    return click.option(
        "--counts-from",
        type=click.Choice(["header", "families"]),
        help="What says how many there are: all must agree, or the families alone [header].",
    )(function)


def source_options(function):
    """Who brings the bytes, and how the work is cut."""
    options = (
        click.option(
            "--source",
            type=click.Choice(["forebay", "ifstream"]),
            default="forebay",
            show_default=True,
            help="Who reads for the tasks.",
        ),
        click.option("--tasks", type=click.IntRange(1), metavar="N", help="Tasks [4096]."),
        click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads [all cores]."),
        click.option("--budget", metavar="SIZE", help="Forebay's memory [64MiB]."),
        click.option("--cold", is_flag=True, help="Drop the file from the page cache first."),
    )
    for option in reversed(options):
        function = option(function)
    return function


snapshot_argument = click.argument("file", type=click.Path())


def ask(
    action: str, file: str, options: dict, answers: tuple[int, ...] = (0,), told: str = ""
) -> native.Answer:
    """Calls forebay-tipsy and shows its progress, with `told` before it."""
    from forebay.report.terminal import progress

    arguments = [action, file, *native.options_of(options)]
    with progress(told) as on_progress:
        return native.call(PROGRAM, arguments, on_progress, answers)


def generate_snapshot(file: str, options: dict) -> dict:
    """Makes a snapshot and notes its model on it."""
    document = ask("generate", file, options).document
    write_note(Path(file), document["model"])
    return document


@command.command(short_help="What the header says.")
@snapshot_argument
@precision_options
@counts_option
@json_option
def info(file, json_file, **options):
    """What the header of FILE says."""
    document = native.call(PROGRAM, ["info", file, *native.options_of(options)]).document
    report(document, json_file, lambda console: _tables().print_snapshot(console, document))


@command.command(short_help="Read all of it and look for damage.")
@snapshot_argument
@precision_options
@counts_option
@source_options
@json_option
@click.pass_context
def check(ctx, file, json_file, **options):
    """Read all of FILE and look for damage; exit code 3 if there is some."""
    answer = ask("check", file, options, (0, EXIT_PROBLEMS))
    document = answer.document
    report(document, json_file, lambda console: _tables().print_check(console, document))
    return answer.exit_code


@command.command(short_help="Make a Plummer sphere.")
@snapshot_argument
@click.option("--size", metavar="SIZE", help="Size of the file, as in 64MiB [1GiB].")
@click.option("--gas", type=click.IntRange(0), metavar="N", help="Number of gas particles.")
@click.option("--dark", type=click.IntRange(0), metavar="N", help="Number of dark particles.")
@click.option("--star", type=click.IntRange(0), metavar="N", help="Number of star particles.")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Same seed, same file [1].")
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads [all cores].")
@click.option("--byte-order", type=click.Choice(["standard", "native"]), help="[standard]")
@click.option("--header", type=click.Choice(["32", "28"]), help="Bytes of the header [32].")
@precision_options
@json_option
def generate(file, json_file, **options):
    """Make FILE: a Plummer sphere in equilibrium with gas, dark and star particles."""
    document = generate_snapshot(file, options)
    report(document, json_file, lambda console: _tables().print_generated(console, document))


@command.command(short_help="Centre, velocity dispersion, density profile.")
@snapshot_argument
@precision_options
@counts_option
@source_options
@click.option("--shells", type=click.IntRange(1), metavar="N", help="Shells of the profile [50].")
@click.option(
    "--plummer-a",
    type=click.FloatRange(0, min_open=True),
    metavar="A",
    help="Draw the Plummer sphere of this scale radius too. Known for files of `generate`.",
)
@json_option
@plot_option("the density profile")
def analyse(file, plummer_a, json_file, plot_file, **options):
    """Centre of mass, velocity dispersion and density profile of FILE, in many tasks."""
    document = ask("analyse", file, options).document
    report(document, json_file, lambda console: _tables().print_analysis(console, document))
    if plot_file:
        from forebay.report.density_plot import draw_density

        draw_density(document, Path(plot_file), plummer_a or known_scale_radius(document))
        say(json_file, f"picture: {plot_file}")


def known_scale_radius(analysis: dict) -> float | None:
    """The Plummer radius of a file that we made."""
    note = read_note(Path(analysis["snapshot"]["path"]))
    return note.get("scale_radius") if note.get("name") == "plummer" else None


def _tables():
    from forebay.report import tipsy_tables

    return tipsy_tables
