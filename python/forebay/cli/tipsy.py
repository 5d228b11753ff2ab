# SPDX-License-Identifier: Apache-2.0
"""`forebay tipsy`: runs forebay-tipsy and prints its results as tables and plots."""

from pathlib import Path

import click

from forebay import native
from forebay.cli.output import json_option, plot_option, print_line, report
from forebay.model_attribute import read_model_attribute, write_model_attribute

PROGRAM = "forebay-tipsy"
EXIT_PROBLEMS = 3  # `check` found damage; its document is complete


@click.group(name="tipsy", short_help="Tipsy snapshots.")
def command():
    """Generate, check and analyze Tipsy snapshots (N-body simulations)."""


def precision_options(function):
    """Adds the options for the precision of numbers, for files whose size is ambiguous."""
    flags = ("single", "double-positions", "double-velocities")
    texts = ("All numbers are 32-bit.", "Positions are 64-bit.", "Velocities are 64-bit.")
    for flag, text in reversed(list(zip(flags, texts, strict=True))):
        function = click.option(f"--{flag}", is_flag=True, help=text)(function)
    return function


def counts_option(function):
    """Adds the option for the source of particle counts."""
    return click.option(
        "--counts-from",
        type=click.Choice(["header", "families"]),
        help="Source of the counts: all must agree, or the families alone [header].",
    )(function)


def source_options(function):
    """Adds the options for the reader, and for how work is split."""
    options = (
        click.option(
            "--source",
            type=click.Choice(["forebay", "ifstream"]),
            default="forebay",
            show_default=True,
            help="Reader for the tasks.",
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


def run_native(
    action: str, file: str, options: dict, accepted_codes: tuple[int, ...] = (0,), label: str = ""
) -> native.ProgramResult:
    """Runs forebay-tipsy and shows its progress, with the prefix `label`."""
    from forebay.report.terminal import progress

    arguments = [action, file, *native.option_arguments(options)]
    with progress(label) as on_progress:
        return native.run_program(PROGRAM, arguments, on_progress, accepted_codes)


def generate_snapshot(file: str, options: dict) -> dict:
    """Generates a snapshot and stores its model in an extended attribute."""
    document = run_native("generate", file, options).document
    write_model_attribute(Path(file), document["model"])
    return document


@command.command(short_help="Print the header.")
@snapshot_argument
@precision_options
@counts_option
@json_option
def info(file, json_file, **options):
    """Print the header of FILE."""
    document = native.run_program(
        PROGRAM, ["info", file, *native.option_arguments(options)]
    ).document
    report(document, json_file, lambda console: _tables().print_snapshot(console, document))


@command.command(short_help="Read all of a snapshot and report damage.")
@snapshot_argument
@precision_options
@counts_option
@source_options
@json_option
@click.pass_context
def check(ctx, file, json_file, **options):
    """Read all of FILE and report damage; exit code 3 if there is any."""
    result = run_native("check", file, options, (0, EXIT_PROBLEMS))
    document = result.document
    report(document, json_file, lambda console: _tables().print_check(console, document))
    return result.exit_code


@command.command(short_help="Generate a Plummer sphere.")
@snapshot_argument
@click.option("--size", metavar="SIZE", help="Size of the file, such as 64MiB [1GiB].")
@click.option("--gas", type=click.IntRange(0), metavar="N", help="Number of gas particles.")
@click.option("--dark", type=click.IntRange(0), metavar="N", help="Number of dark particles.")
@click.option("--star", type=click.IntRange(0), metavar="N", help="Number of star particles.")
@click.option(
    "--seed", type=click.IntRange(0), metavar="N", help="The same seed gives the same file [1]."
)
@click.option("--threads", type=click.IntRange(1), metavar="N", help="Threads [all cores].")
@click.option(
    "--byte-order", type=click.Choice(["standard", "native"]), help="Byte order [standard]."
)
@click.option("--header", type=click.Choice(["32", "28"]), help="Bytes of the header [32].")
@precision_options
@json_option
def generate(file, json_file, **options):
    """Write FILE: a Plummer sphere in equilibrium with gas, dark and star particles."""
    document = generate_snapshot(file, options)
    report(document, json_file, lambda console: _tables().print_generated(console, document))


@command.command(
    name="analyze", short_help="Compute center, velocity dispersion and density profile."
)
@snapshot_argument
@precision_options
@counts_option
@source_options
@click.option("--shells", type=click.IntRange(1), metavar="N", help="Shells of the profile [50].")
@click.option(
    "--plummer-a",
    type=click.FloatRange(0, min_open=True),
    metavar="A",
    help="Also plot the Plummer sphere of this scale radius [that of `generate`, if known].",
)
@json_option
@plot_option("the density profile")
def analyze(file, plummer_a, json_file, plot_file, **options):
    """Compute center of mass, velocity dispersion and density profile of FILE, in many tasks."""
    document = run_native("analyze", file, options).document
    report(document, json_file, lambda console: _tables().print_analysis(console, document))
    if plot_file:
        from forebay.report.density_plot import draw_density

        draw_density(document, Path(plot_file), plummer_a or stored_scale_radius(document))
        print_line(json_file, f"picture: {plot_file}")


def stored_scale_radius(analysis: dict) -> float | None:
    """The Plummer radius that `generate` stored with a file; None if there is none."""
    note = read_model_attribute(Path(analysis["snapshot"]["path"]))
    return note.get("scale_radius") if note.get("name") == "plummer" else None


def _tables():
    from forebay.report import tipsy_tables

    return tipsy_tables
