# SPDX-License-Identifier: Apache-2.0
"""`forebay study`: compares many plans on several machines, by simulation."""

from pathlib import Path

import click

from forebay import checkpoint_study, native
from forebay.cli import seed_studies
from forebay.cli.output import json_option, plot_option, print_line, report
from forebay.errors import EXIT_USAGE, ForebayError
from forebay.sizes import parse_size
from forebay.strategies import PRESETS

MACHINES = ("lustre-small", "gpfs-small", "pvfs-small")
WORD_BYTES = 8

# The limits of the native tool. They are checked here, so that errors name the option.
RANKS = click.IntRange(1, 1024)
BYTES_MAX = 2**30


@click.group(name="study", short_help="Compare plans on several machines, by simulation.")
def command():
    """Compare many plans on several machines, by simulation. Nothing is measured."""


def _bytes(_context, parameter, value: str) -> int:
    option = parameter.opts[0]
    size = parse_size(value, option)
    if not WORD_BYTES <= size <= BYTES_MAX:
        raise ForebayError(f"{option} must be from 8 B to 1 GiB, not {value!r}", EXIT_USAGE)
    return size // WORD_BYTES * WORD_BYTES  # sizes are whole words


@command.command(short_help="Compare writers, files and presets of a checkpoint.")
@click.option(
    "--machine",
    "machines",
    metavar="NAME|FILE",
    multiple=True,
    default=MACHINES,
    help=f"Repeat it for each machine.  [default: {', '.join(MACHINES)}]",
)
@click.option(
    "--ranks", metavar="N", type=RANKS, default=64, show_default=True, help="Ranks of the step."
)
@click.option(
    "--nodes",
    metavar="N",
    type=RANKS,
    help="Nodes with these ranks.  [default: the machine's clients]",
)
@click.option(
    "--bytes",
    "bytes_per_rank",
    metavar="SIZE",
    default="1792KiB",
    show_default=True,
    callback=_bytes,
    help="Bytes of each rank in the step, 8 B to 1 GiB; the average, if sizes are exponential.",
)
@click.option(
    "--sizes",
    type=click.Choice(["equal", "exponential"]),
    default="equal",
    show_default=True,
    help="Distribution of the step over ranks.",
)
@click.option(
    "--preset",
    "presets",
    type=click.Choice(PRESETS),
    multiple=True,
    help="Repeat it for each strategy.  [default: all]",
)
@json_option
@plot_option("the tables as heat maps")
def checkpoint(json_file, plot_file, **question):
    """Simulate one checkpoint with every preset and every number of writers and files. Report the
    best on each machine, and the loss with the best of another machine.

    docs/guides/study.md explains the output and its limits.
    """
    from forebay.report.terminal import progress

    with progress() as on_progress:
        simulated = native.tools().study_checkpoint(
            strategies=question.pop("presets"), progress=on_progress, **question
        )
    result = checkpoint_study.report_of(simulated)
    report(result, json_file, lambda console: _tables().print_study(console, result))
    if plot_file is not None:
        from forebay.report.study_plot import draw_study

        draw_study(result, Path(plot_file))
        print_line(json_file, f"picture: {plot_file}")


@command.command(short_help="Repeat the study of irregular output.")
@click.option("--ranks", metavar="N", type=click.IntRange(2, 1024), default=64, show_default=True)
@click.option("--quick", is_flag=True, help="5 steps instead of 15.")
@json_option
@plot_option("small and large steps by aggregators, and losses with other optima")
def irregular(ranks, quick, json_file, plot_file):
    """Simulate kernels with uniform, normal and exponential sizes on three machines, with gather
    and brigade, numbers of aggregators and targets, and files created ahead. Answer each statement
    of the slides with a number. A few minutes."""
    from forebay import irregular_study
    from forebay.report.terminal import progress

    with progress() as on_progress:
        result = irregular_study.report_of(irregular_study.measure(ranks, quick, on_progress))
    report(result, json_file, lambda console: _tables().print_irregular(console, result))
    if plot_file is not None:
        from forebay.report.irregular_plot import draw_irregular

        draw_irregular(result, Path(plot_file))
        print_line(json_file, f"picture: {plot_file}")


@command.command(short_help="Project the I/O overhead of QMCPack.")
@click.option("--writers", multiple=True, type=click.IntRange(1), help="May be repeated.")
@json_option
def qmcpack(writers, json_file):
    """Print the share of I/O in the time of QMCPack for numbers of writers, by the overhead and the
    bandwidths of the slides."""
    from forebay import irregular_study

    result = irregular_study.qmcpack(list(writers))
    report(result, json_file, lambda console: _tables().print_qmcpack(console, result))


for one in seed_studies.COMMANDS:
    command.add_command(one)


def _tables():
    from forebay.report import study_tables

    return study_tables
