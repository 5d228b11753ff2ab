# SPDX-License-Identifier: Apache-2.0
"""The command `forebay`: its subcommands and exit codes.

Only click is imported here, so that help appears at once. Each command is a separate module that is
imported when it is called. It imports rich, numpy and matplotlib only where it produces output.
"""

import importlib
import signal
import sys
from collections.abc import Callable
from functools import partial

import click
from click.shell_completion import CompletionItem

from forebay import __version__
from forebay.cli import standard_streams
from forebay.errors import (
    EXIT_SIGNAL,
    EXIT_USAGE,
    RAISED_BY_SIGNALS,
    ForebayError,
    TerminatedBySignal,
)

# Name: module (with the name of the command in it, if not `command`), and the line that
# `forebay --help` prints without importing it.
COMMANDS = {
    "doctor": ("forebay.cli.doctor", "Report what Forebay can use on this machine, with advice."),
    "machine": ("forebay.cli.machine", "List, show and check descriptions of parallel storage."),
    "model": ("forebay.cli.model", "Compute the gain of writing behind, by a model."),
    "plan": ("forebay.cli.plan", "Choose a plan on a described machine, by simulation."),
    "study": ("forebay.cli.study", "Compare plans on several machines, by simulation."),
    "kernel": ("forebay.cli.kernel", "Repeat the I/O of a program, and compare libraries."),
    "tune": ("forebay.cli.tune", "Find the fastest write plan for a kernel on a storage."),
    "explain": ("forebay.cli.explain", "Explain the plan of a tuning profile."),
    "advise": ("forebay.cli.advise", "Find the best setting for a program, from its log."),
    "run": ("forebay.cli.run", "Run a program, and read ahead for it."),
    "profile": ("forebay.cli.profile", "List, show and remove what runs of programs have read."),
    "trace": ("forebay.cli.trace", "Show recorded accesses and their signatures."),
    "hints": ("forebay.cli.hints", "Write hints of coming reads from sources."),
    "ls": ("forebay.cli.dataset:ls", "List steps, fields and parts of a dataset."),
    "verify": ("forebay.cli.dataset:verify", "Read all of a dataset and report all damage."),
    "repair": ("forebay.cli.dataset:repair", "Write new tables of a dataset."),
    "diff": ("forebay.cli.dataset:diff", "Compare two steps of datasets."),
    "export": ("forebay.cli.dataset_export", "Export a step for Zarr, xarray or HDF5."),
    "view": ("forebay.cli.dataset_view", "Show all steps to HDF5 and Zarr in place."),
    "tipsy": ("forebay.cli.tipsy", "Generate, check and analyze Tipsy snapshots."),
    "cube": ("forebay.cli.cube", "Inspect, check, generate and compare Cube profiles (.cubex)."),
    "flow": ("forebay.cli.flow", "Run a flow solver in parts that writes checkpoints."),
    "calibrate": ("forebay.cli.calibrate", "Measure a storage and write its machine file."),
    "bench": ("forebay.cli.bench", "Run benchmarks: results and goals as a table and a plot."),
    "emufs": ("forebay.cli.emufs", "Mount a directory as an emulated parallel file system."),
    "demo": ("forebay.cli.demo", "Read a snapshot both ways; kill a solver and restart it."),
}

# Raised since click 8.2. Before, click printed the help by itself.
NO_ARGUMENTS = getattr(click.exceptions, "NoArgsIsHelpError", ())


class LazyGroup(click.Group):
    """A group that imports a command when it is used."""

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

    def shell_complete(self, ctx, incomplete):
        """Proposes commands without importing them. A shell calls this at each press of Tab."""
        found = [name for name in COMMANDS if name.startswith(incomplete)]
        items = [CompletionItem(name, help=COMMANDS[name][1]) for name in found]
        return items + click.Command.shell_complete(self, ctx, incomplete)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="forebay")
def cli():
    """A basin between storage and computation: task-level parallel I/O."""


def main(arguments: list[str] | None = None) -> int:
    """Runs a command line and returns its exit code.

    0: success. 1: failure. 2: wrong usage. 128 + number: a signal; a closed pipe at standard output
    counts as SIGPIPE.
    """
    is_run = (arguments or sys.argv[1:])[:1] == ["run"]
    _install_handlers(is_run)
    try:
        if is_run:
            standard_streams.allow_closed_stdout()  # the program decides
        standard_streams.install_layers()
        exit_code = _run(partial(cli.main, arguments, prog_name="forebay", standalone_mode=False))
        return _run(sys.stdout.flush) or exit_code  # Python's exit would ignore a failure
    except standard_streams.StdoutError as lost:
        return lost.exit_code if lost.has_no_reader else _fail(str(lost), lost.exit_code)


def _install_handlers(is_run: bool) -> None:
    """Signals end a command by an exception. `run` keeps the default actions: an exception can be
    lost, in an import for example, and the program would start."""
    changed = [signal.SIGINT] if is_run else [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    for number in changed:
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup does
            signal.signal(number, signal.SIG_DFL if is_run else _terminate)


def _run(work: Callable[[], int | None]) -> int:
    """Calls `work`. A failure for the user becomes a line on standard error and an exit code."""
    try:
        return work() or 0
    except NO_ARGUMENTS as error:
        click.echo(error.ctx.get_help())
        return EXIT_USAGE
    except click.UsageError as error:
        return _fail(f"{_lower_first(error.format_message())} {_help_hint(error)}", EXIT_USAGE)
    except click.ClickException as error:
        return _fail(error.format_message(), error.exit_code)
    except ForebayError as error:
        return _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted", EXIT_SIGNAL + signal.SIGINT)
    except TerminatedBySignal as error:
        return _fail("terminated", error.exit_code)


def _terminate(number, _frame):
    is_interrupt = number == signal.SIGINT
    RAISED_BY_SIGNALS.append(KeyboardInterrupt() if is_interrupt else TerminatedBySignal(number))
    raise RAISED_BY_SIGNALS[-1]


def _fail(message: str, exit_code: int) -> int:
    click.secho(f"error: {' '.join(message.split())}", fg="red", err=True)
    return exit_code


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]


def _help_hint(error: click.UsageError) -> str:
    path = error.ctx.command_path if error.ctx else "forebay"
    return f"See {path} --help."
