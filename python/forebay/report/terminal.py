# SPDX-License-Identifier: Apache-2.0
"""Tables and progress bars in the terminal: one look for all commands.

Where standard error is no terminal, progress becomes one plain line for each piece of work.
"""

import contextlib
import sys

import click

from forebay.native import Progress
from forebay.report import units

WIDTH_WITHOUT_TERMINAL = 110


def make_console():
    """For standard output. A pipe gets a width that no table of ours exceeds."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else WIDTH_WITHOUT_TERMINAL
    return Console(width=width, highlight=False)


def table(title: str, *columns: str, right: tuple[int, ...] = (), fold: int = -1):
    """An empty table; columns whose index is in `right` hold numbers, the one of index `fold` goes
    over several lines where the terminal is narrow."""
    from rich import box
    from rich.table import Table

    result = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for index, name in enumerate(columns):
        result.add_column(
            name,
            justify="right" if index in right else "left",
            overflow="fold",
            no_wrap=index != fold % len(columns),
            header_style="dim",
        )
    return result


def facts(title: str, rows: list[tuple[str, str]]):
    """A table of names and values."""
    from rich import box
    from rich.table import Table

    result = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE,
        show_header=False,
        pad_edge=False,
    )
    result.add_column(style="dim")
    result.add_column(overflow="fold")
    for row in rows:
        result.add_row(*row)
    return result


@contextlib.contextmanager
def progress(prefix: str = ""):
    """Gives a function to hand to native.call(): it shows how far each piece of work is."""
    if not sys.stderr.isatty():
        yield _PlainLines(prefix).take
        return
    bars = _Bars(prefix)
    with bars.display:
        yield bars.take


class _PlainLines:
    """A line when a piece of work begins; enough for a log."""

    def __init__(self, prefix: str):
        self.prefix = prefix
        self.told: str | None = None

    def take(self, step: Progress) -> None:
        if step.what != self.told:
            self.told = step.what
            click.echo(f"{self.prefix}{step.what} …", err=True)


class _Bars:
    """One bar for the piece of work under way; a finished one stays as a line."""

    def __init__(self, prefix: str):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        self.prefix = prefix
        self.what: str | None = None
        self.display = Progress(
            TextColumn("{task.description}", markup=False),  # it holds paths
            BarColumn(bar_width=32),
            TextColumn("{task.fields[amount]}", style="dim"),
            TimeElapsedColumn(),
            console=Console(stderr=True, highlight=False),
            transient=True,
        )

    def take(self, step: Progress) -> None:
        if step.what != self.what:
            self.what = step.what
            for old in self.display.task_ids:
                self.display.remove_task(old)
            self.task = self.display.add_task(self.prefix + step.what, total=None, amount="")
        self.display.update(
            self.task, completed=step.done, total=step.total or None, amount=_amount(step)
        )


def _amount(step: Progress) -> str:
    if step.unit == "bytes":
        return f"{units.size(step.done)} of {units.size(step.total)}"
    return f"{units.count(step.done)} of {units.count(step.total)} {step.unit}"
