# SPDX-License-Identifier: Apache-2.0
"""Tables and progress bars in the terminal: one style for all commands.

If standard error is not a terminal, progress is one plain line for each piece of work.
"""

import contextlib
import sys

import click

from forebay.native import Progress
from forebay.report import units

WIDTH_WITHOUT_TERMINAL = 110


def make_console(is_error: bool = False):
    """A console for standard output or error. A pipe gets a width that no table exceeds."""
    from rich.console import Console

    stream = sys.stderr if is_error else sys.stdout
    width = None if stream.isatty() else WIDTH_WITHOUT_TERMINAL
    return Console(width=width, highlight=False, stderr=is_error)


def table(title: str, *columns: str, right: tuple[int, ...] = (), fold: int = -1):
    """An empty table. Columns whose index is in `right` hold numbers. In a narrow terminal, the
    column of index `fold` wraps."""
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
    """Yields a callback for native.run_program() that shows the progress of each piece of work."""
    if not sys.stderr.isatty():
        yield _PlainLines(prefix).feed
        return
    bars = _Bars(prefix)
    with bars.display:
        yield bars.feed


class _PlainLines:
    """Prints a line when a piece of work begins, for logs."""

    def __init__(self, prefix: str):
        self.prefix = prefix
        self.shown_step: str | None = None

    def feed(self, step: Progress) -> None:
        if step.what != self.shown_step:
            self.shown_step = step.what
            click.echo(f"{self.prefix}{step.what} …", err=True)


class _Bars:
    """One bar for the current piece of work."""

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

    def feed(self, step: Progress) -> None:
        if step.what != self.what:
            self.what = step.what
            for old in self.display.task_ids:
                self.display.remove_task(old)
            self.task = self.display.add_task(self.prefix + step.what, total=None, amount="")
        self.display.update(
            self.task, completed=step.done, total=step.total or None, amount=_amount(step)
        )


def _amount(step: Progress) -> str:
    if not step.total:
        return units.count(step.done) if step.done else ""
    if step.unit == "bytes":
        return f"{units.size(step.done)} of {units.size(step.total)}"
    return f"{units.count(step.done)} of {units.count(step.total)} {step.unit}"
