# SPDX-License-Identifier: Apache-2.0
"""Output that all commands share: --json, tables, progress.

With `--json -` standard output carries the document and nothing else. Progress always goes to
standard error.
"""

import importlib.util
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import click

from forebay import atomic_output
from forebay.errors import EXIT_USAGE, ForebayError

STDOUT = "-"
PAGE_PACKAGES = ("jinja2", "plotly", "scipy")
TUNE_PACKAGES = ("pydantic", "scipy", "sklearn", "tomli_w")

# Names of docs/formats/dataset.md; "free-" marks a data file that is kept for later use.
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


def html_option(what: str):
    """Adds --html FILE.html."""
    return click.option(
        "--html",
        "html_file",
        metavar="FILE",
        callback=lambda _ctx, _parameter, value: check_page(value),
        help=f"Write a page with {what}, which needs no other file.",
    )


def check_page(file: str | None) -> str | None:
    """check_target() for a page. Also raises an error if a package that makes it is missing,
    because the run before it may be long."""
    if file is not None:
        require_packages("--html", PAGE_PACKAGES, "kernel")
    return check_target(file, (".html",))


def require_packages(what: str, names: tuple[str, ...], extra: str) -> None:
    """Raises an error that names missing packages and the extra of pip that has them."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        message = f'{what} needs {", ".join(missing)}; run pip install "forebay[{extra}]"'
        raise ForebayError(message)


def plot_option(what: str):
    """Adds --plot FILE.png."""
    return click.option(
        "--plot",
        "plot_file",
        metavar="FILE",
        callback=lambda _ctx, _parameter, value: check_new_file(value, (".png", ".svg", ".pdf")),
        help=f"Plot {what} to FILE (.png, .svg or .pdf).",
    )


def check_target(file: str | None, endings: tuple[str, ...] = ()) -> str | None:
    """Raises an error for a file that cannot or must not be written. Called before long work."""
    if file is None or (file == STDOUT and not endings):
        return file
    path = Path(file)
    if endings and path.suffix.lower() not in endings:
        raise ForebayError(f"{file} must end in {', '.join(endings)}", EXIT_USAGE)
    if path.is_dir():
        raise ForebayError(f"{file} is a directory; name a file in it", EXIT_USAGE)
    if not path.absolute().parent.is_dir():
        raise ForebayError(f"directory {path.parent} does not exist; create it first", EXIT_USAGE)
    _reject_dataset_path(file)
    return file


def check_new_file(file: str | None, endings: tuple[str, ...] = ()) -> str | None:
    """check_target() for output that replaces `file`. It refuses a pipe or a device, which would
    become a regular file."""
    check_target(file, endings)
    if file is not None and atomic_output.is_special_file(file):
        raise ForebayError(f"{file} is not a regular file; name another", EXIT_USAGE)
    return file


def check_new_directory(directory: str | None) -> str | None:
    """Raises an error for a directory that cannot or must not be written."""
    if directory is None:
        return None
    parent = Path(directory).absolute().parent
    if not parent.is_dir():
        raise ForebayError(f"directory {parent} does not exist; create it first", EXIT_USAGE)
    _reject_dataset_path(directory)
    return directory


def _reject_dataset_path(file: str) -> None:
    """Raises an error for a file of a dataset, by its name and by the target of links. It may hold
    data of a step, or the list of all steps."""
    for path in (os.path.abspath(file), os.path.realpath(file)):
        folder, name = os.path.split(path)
        is_in_use = DATA_FILE.fullmatch(name) is not None and os.path.exists(path)
        if is_in_use or os.path.isfile(os.path.join(folder, COMMITS)):
            message = f"{file} is in the dataset {folder}; name a file elsewhere"
            raise ForebayError(message, EXIT_USAGE)


def report(document, json_file: str | None, render: Callable) -> None:
    """Writes the document to `json_file`, and calls `render(console)` unless that is stdout."""
    if json_file is not None:
        write_json(document, json_file)
    if json_file != STDOUT:
        from forebay.report.terminal import make_console

        render(make_console())


def write_json(document, json_file: str) -> None:
    # A path may have bytes that are not text: these are written as JSON escapes.
    text = json.dumps(document, indent=2, ensure_ascii=False)
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if json_file == STDOUT:
        click.echo(text)
        return
    atomic_output.write_text(json_file, text + "\n")


def print_line(json_file: str | None, text: str) -> None:
    """Prints a line for the user, unless standard output carries the document."""
    if json_file != STDOUT:
        click.echo(text)
