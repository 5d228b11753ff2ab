# SPDX-License-Identifier: Apache-2.0
"""The command `forebay`: what it knows, and how it ends.

Only click is imported here. Each command lives in a module of its own that is imported when it is
called, and imports rich, numpy and matplotlib only where it shows something: help must come at
once.
"""

import importlib
import signal
import sys
from collections.abc import Callable
from functools import partial

import click

from forebay import __version__
from forebay.cli import standard_streams
from forebay.errors import EXIT_SIGNAL, EXIT_USAGE, ForebayError, Terminated

# Name: module (and what it calls the command, if not that), and the line that `forebay --help`
# shows without importing it.
COMMANDS = {
    "doctor": ("forebay.cli.doctor", "Look at this machine: what Forebay can use, and advice."),
    "machine": ("forebay.cli.machine", "Descriptions of parallel storage: list, show, check."),
    "model": ("forebay.cli.model", "What the models say: the gain of writing behind."),
    "study": ("forebay.cli.study", "Plans and machines side by side, by the models."),
    "ls": ("forebay.cli.dataset:ls", "What is in a dataset: steps, fields, parts."),
    "verify": ("forebay.cli.dataset:verify", "Read all of a dataset and name every damage."),
    "repair": ("forebay.cli.dataset:repair", "Make the tables of a dataset anew."),
    "diff": ("forebay.cli.dataset:diff", "Where two steps of datasets differ."),
    "export": ("forebay.cli.dataset_export", "A step of a dataset for zarr, xarray or HDF5."),
    "tipsy": ("forebay.cli.tipsy", "Make, check and analyse Tipsy snapshots."),
    "cube": ("forebay.cli.cube", "Cube profiles (.cubex): look into, check, make, compare."),
    "flow": ("forebay.cli.flow", "A flow solver in parts that keeps checkpoints."),
    "calibrate": ("forebay.cli.calibrate", "Measure a storage: a machine file of it."),
    "bench": ("forebay.cli.bench", "Run benchmarks: a table and a picture against the goals."),
    "emufs": ("forebay.cli.emufs", "Mount a folder as an emulated parallel file system."),
    "demo": ("forebay.cli.demo", "Read a snapshot both ways; kill a solver and go on."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx):
        return list(COMMANDS)

    def get_command(self, ctx, cmd_name):
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        return getattr(importlib.import_module(module), name or "command")

    def format_commands(self, ctx, formatter):
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="forebay")
def cli():
    """A basin between storage and computation: task-level parallel I/O."""


def main(arguments: list[str] | None = None) -> int:
    """Runs a command line and returns its exit code: 0 done, 1 failed, 2 wrong usage,
    128 + number for a signal, which a closed pipe at standard output counts as."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _terminate)
    try:
        standard_streams.watch()
        exit_code = _run(partial(cli.main, arguments, prog_name="forebay", standalone_mode=False))
        return _run(sys.stdout.flush) or exit_code  # when Python exits, nobody catches failures
    except standard_streams.OutputLost as lost:
        return lost.exit_code if lost.has_no_reader else _fail(str(lost), lost.exit_code)


def _run(work: Callable[[], int | None]) -> int:
    """Does it; a failure that a user should read becomes a line on standard error and a code."""
    try:
        return work() or 0
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help())
        return EXIT_USAGE
    except click.UsageError as error:
        return _fail(f"{_first_lower(error.format_message())} {_see_help(error)}", EXIT_USAGE)
    except click.ClickException as error:
        return _fail(error.format_message(), error.exit_code)
    except ForebayError as error:
        return _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted", EXIT_SIGNAL + signal.SIGINT)
    except Terminated as error:
        return _fail("terminated", error.exit_code)


def _terminate(number, _frame):
    raise Terminated(number)


def _fail(message: str, exit_code: int) -> int:
    click.secho(f"error: {' '.join(message.split())}", fg="red", err=True)
    return exit_code


def _first_lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _see_help(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx else "forebay"
    return f"See {path} --help."
