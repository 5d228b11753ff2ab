# SPDX-License-Identifier: Apache-2.0
"""`forebay study`: what the models say of many plans and machines side by side."""

from pathlib import Path

import click

from forebay import checkpoint_study, native
from forebay.cli.output import json_option, plot_option, report, say
from forebay.errors import EXIT_USAGE, ForebayError
from forebay.sizes import parse_size
from forebay.strategies import PRESETS

PROGRAM = "forebay-study"
MACHINES = ("lustre-small", "gpfs-small", "pvfs-small")
WORD_BYTES = 8

# As the program has them, which names its own options.
RANKS = click.IntRange(1, 1024)
BYTES_MOST = 2**30


@click.group(name="study", short_help="Plans and machines side by side, by the models.")
def command():
    """What the models say of many plans on several machines, side by side. Nothing is measured."""


def _bytes(_context, parameter, value: str) -> int:
    option = parameter.opts[0]
    size = parse_size(value, option)
    if not WORD_BYTES <= size <= BYTES_MOST:
        raise ForebayError(f"{option} must be from 8 B to 1 GiB, not {value!r}", EXIT_USAGE)
    return size // WORD_BYTES * WORD_BYTES  # sizes are counted in words


@command.command(short_help="Writers, files and presets of a checkpoint.")
@click.option(
    "--machine",
    "machines",
    metavar="NAME|FILE",
    multiple=True,
    default=MACHINES,
    help=f"Give it once for each machine.  [default: {', '.join(MACHINES)}]",
)
@click.option(
    "--ranks", metavar="N", type=RANKS, default=64, show_default=True, help="They share the step."
)
@click.option(
    "--nodes",
    metavar="N",
    type=RANKS,
    help="Ranks are spread over these.  [default: the machine's clients]",
)
@click.option(
    "--bytes",
    "bytes_per_rank",
    metavar="SIZE",
    default="1792KiB",
    show_default=True,
    callback=_bytes,
    help="What each rank puts in the step, 8 B to 1 GiB; on average, if sizes are exponential.",
)
@click.option(
    "--sizes",
    type=click.Choice(["equal", "exponential"]),
    default="equal",
    show_default=True,
    help="How the step is shared out.",
)
@click.option(
    "--preset",
    "presets",
    type=click.Choice(PRESETS),
    multiple=True,
    help="Give it once for each.  [default: all]",
)
@json_option
@plot_option("the tables as heat maps")
def checkpoint(json_file, plot_file, **question):
    """Play one checkpoint by every preset with every number of writers and files, and tell what is
    best on which machine, and what is lost when another machine's best is used.

    docs/guides/study.md says how to read it, and what it does not say.
    """
    from forebay.report.terminal import progress

    with progress() as on_progress:
        played = native.call(PROGRAM, checkpoint_words(question), on_progress).document
    result = checkpoint_study.report_of(played)
    report(result, json_file, lambda console: _tables().print_study(console, result))
    if plot_file is not None:
        from forebay.report.study_plot import draw_study

        draw_study(result, Path(plot_file))
        say(json_file, f"picture: {plot_file}")


def checkpoint_words(question: dict) -> list[str]:
    """The question as the native program takes it."""
    single = {name: question[name] for name in ("ranks", "nodes", "bytes_per_rank", "sizes")}
    words = ["checkpoint", *native.options_of(single)]
    for option, name in (("--machine", "machines"), ("--strategy", "presets")):
        for value in question[name]:
            words += [option, value]
    return words


def _tables():
    from forebay.report import study_tables

    return study_tables
