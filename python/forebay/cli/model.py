# SPDX-License-Identifier: Apache-2.0
"""`forebay model`: results of the models for given numbers; nothing is measured."""

from pathlib import Path

import click

from forebay import native
from forebay.cli.output import json_option, plot_option, print_line, report
from forebay.durations import parse_duration
from forebay.errors import EXIT_USAGE, ForebayError
from forebay.report.terminal import progress

UNLIMITED = "unlimited"
NUMBER_MAX = 2**64 - 1
COUNT = 1000
JITTER_MAX = 3
NUMBER = click.IntRange(1, NUMBER_MAX)  # the native tool reports lower limits


@click.group(name="model", short_help="Compute results of the models.")
def command():
    """Compute results of the models for numbers that you give. Nothing is measured."""


def _duration(_context, parameter, value: str) -> float:
    return parse_duration(value, parameter.opts[0])


def _buffers(_context, parameter, value: str) -> int | None:
    if value == UNLIMITED:
        return None
    if value.isascii() and value.isdigit() and 1 <= int(value) < NUMBER_MAX:
        return int(value)
    message = f"{parameter.opts[0]}: {value!r} is not a number of buffers; write 2 or {UNLIMITED}"
    raise ForebayError(message, EXIT_USAGE)


def _jitter(_context, parameter, value: float) -> float:
    if 0 <= value <= JITTER_MAX:
        return value
    what = "standard deviation / mean"
    message = f"{parameter.opts[0]}: {value:g} is not from 0 to {JITTER_MAX}; give {what}"
    raise ForebayError(message, EXIT_USAGE)


def jitter_option(name: str, what: str):
    return click.option(
        name,
        metavar="X",
        type=float,
        default=0,
        callback=_jitter,
        help=f"How much {what} times vary: standard deviation / mean.  [default: 0]",
    )


@command.command(short_help="Compute the gain of writing behind the computation.")
@click.option(
    "--compute",
    metavar="TIME",
    required=True,
    callback=_duration,
    help="Time to fill one buffer: 10ms, 1.5s.",
)
@click.option(
    "--write", metavar="TIME", required=True, callback=_duration, help="Time to write one."
)
@click.option(
    "--buffers",
    metavar=f"N|{UNLIMITED}",
    default="2",
    show_default=True,
    callback=_buffers,
    help="Buffers in memory; 1 is synchronous.",
)
@click.option(
    "--devices",
    metavar="N",
    type=NUMBER,
    default=1,
    show_default=True,
    help="Writes at a time that do not slow each other.",
)
@click.option(
    "--count",
    metavar="N",
    type=NUMBER,
    default=COUNT,
    show_default=True,
    help="Buffers to write.",
)
@jitter_option("--jitter", "write")
@jitter_option("--compute-jitter", "computing")
@click.option(
    "--seed",
    metavar="N",
    type=click.IntRange(0, NUMBER_MAX),
    default=1,
    show_default=True,
    help="Seed of the random times.",
)
@json_option
@plot_option("the gain over compute time / write time")
def gain(json_file, plot_file, **question):
    """Compute the time of a program that fills a buffer while others are written, beside the time
    of one that computes and writes alternately; and the sufficient numbers of buffers and devices.

    docs/guides/gain.md has the formulas and the limits of the model.
    """
    with progress() as on_progress:
        document = native.tools().compute_gain(
            compute_s=question.pop("compute"),
            write_s=question.pop("write"),
            curves=plot_file is not None,
            progress=on_progress,
            **question,
        )
    report(document, json_file, lambda console: _tables().print_gain(console, document))
    if plot_file is not None:
        from forebay.report.gain_plot import draw_gain

        draw_gain(document, Path(plot_file))
        print_line(json_file, f"picture: {plot_file}")


def _tables():
    from forebay.report import gain_tables

    return gain_tables
