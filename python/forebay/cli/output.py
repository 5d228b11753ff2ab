# SPDX-License-Identifier: Apache-2.0
"""What all commands have in common in what they print: --json, tables, progress.

With `--json -` standard output carries the document and nothing else; progress always goes to
standard error.
"""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import click

from forebay import outputs
from forebay.errors import EXIT_USAGE, ForebayError

STDOUT = "-"

# Of docs/formats/dataset.md; "free-" is that of one which is kept for later use.
COMMITS = "commits"
DATA_FILE = re.compile(r"(free-)?data-\d{6,}\.\d{5,}")


def json_option(function):
    """Adds --json FILE."""
    return click.option(
        "--json",
        "json_file",
        metavar="FILE",
        callback=lambda _ctx, _parameter, value: check_target(value),
        help="Write the result as JSON to FILE; - is standard output, and nothing else goes there.",
    )(function)


def plot_option(what: str):
    """Adds --plot FILE.png."""
    return click.option(
        "--plot",
        "plot_file",
        metavar="FILE",
        callback=lambda _ctx, _parameter, value: check_new_file(value, (".png", ".svg", ".pdf")),
        help=f"Draw {what} to FILE (.png, .svg or .pdf).",
    )


def check_target(file: str | None, endings: tuple[str, ...] = ()) -> str | None:
    """Refuses a file that cannot be written, or must not, before long work, not after it."""
    if file is None or (file == STDOUT and not endings):
        return file
    path = Path(file)
    if endings and path.suffix.lower() not in endings:
        raise ForebayError(f"{file} must end in {', '.join(endings)}", EXIT_USAGE)
    if path.is_dir():
        raise ForebayError(f"{file} is a folder; name a file in it", EXIT_USAGE)
    if not path.absolute().parent.is_dir():
        raise ForebayError(f"there is no folder {path.parent}; make it first", EXIT_USAGE)
    _refuse_a_place_in_a_dataset(file)
    return file


def check_new_file(file: str | None, endings: tuple[str, ...] = ()) -> str | None:
    """check_target() for what replaces `file`, and would leave a regular file where a pipe or a
    device was."""
    check_target(file, endings)
    if file is not None and outputs.is_written_through(file):
        raise ForebayError(f"{file} is no regular file; name another", EXIT_USAGE)
    return file


def _refuse_a_place_in_a_dataset(file: str) -> None:
    """By what it is called, and by where links lead: whatever is written there may be data of a
    step, or the list of all of them."""
    for path in (os.path.abspath(file), os.path.realpath(file)):
        folder, name = os.path.split(path)
        is_in_use = DATA_FILE.fullmatch(name) is not None and os.path.exists(path)
        if is_in_use or os.path.isfile(os.path.join(folder, COMMITS)):
            message = f"{file} is in the dataset {folder}; name a file elsewhere"
            raise ForebayError(message, EXIT_USAGE)


def report(document, json_file: str | None, render: Callable) -> None:
    """Writes the document where --json says, and calls `render(console)` unless that is stdout."""
    if json_file is not None:
        write_json(document, json_file)
    if json_file != STDOUT:
        from forebay.report.terminal import make_console

        render(make_console())


def write_json(document, json_file: str) -> None:
    # Paths may be no text: what of them is not is written as JSON escapes it.
    text = json.dumps(document, indent=2, ensure_ascii=False)
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if json_file == STDOUT:
        click.echo(text)
        return
    outputs.write_text(json_file, text + "\n")


def say(json_file: str | None, text: str) -> None:
    """A line for the reader, unless standard output belongs to the document."""
    if json_file != STDOUT:
        click.echo(text)
