# SPDX-License-Identifier: Apache-2.0
"""`forebay profile`: what `forebay run` has learned of programs."""

import shutil
import time
import tomllib
from pathlib import Path

import click

from forebay import atomic_output, run_job
from forebay.cli.output import check_new_file, json_option, print_line, report
from forebay.errors import EXIT_USAGE, ForebayError
from forebay.report import units

SUFFIX = ".hints"

folder_option = click.option(
    "--profiles", metavar="DIR", type=click.Path(path_type=Path), help="Profiles [cache]."
)


@click.group(name="profile", short_help="List, show and remove what runs of programs have read.")
def command():
    """List, show, remove and export the profiles of `forebay run`: hints of what earlier runs of a
    program have read, one profile for each program and class of arguments."""


@command.command(name="ls", short_help="List all profiles.")
@folder_option
@json_option
def ls(profiles, json_file):
    """List the profiles, newest first."""
    found = [_describe(path) for path in sorted(_folder(profiles).glob("*" + SUFFIX))]
    found.sort(key=lambda one: -one["modified"])
    report(found, json_file, lambda console: _print_list(console, found))


@command.command(short_help="Show the hints of a profile.")
@click.argument("name")
@folder_option
@json_option
def show(name, profiles, json_file):
    """Show the hints of the profile NAME: the files that its program has read, and how."""
    path = _find(name, profiles)
    document = _describe(path) | {"hints": _load(path)["hint"]}
    report(document, json_file, lambda console: _print_hints(console, document))


@command.command(short_help="Remove profiles.")
@click.argument("names", metavar="NAME...", nargs=-1)
@click.option("--all", "is_all", is_flag=True, help="Remove all profiles.")
@folder_option
def rm(names, is_all, profiles):
    """Remove the profiles with these names: the next runs of their programs learn anew."""
    if is_all == bool(names):
        raise ForebayError("name profiles, or write --all", EXIT_USAGE)
    paths = list(_folder(profiles).glob("*" + SUFFIX)) if is_all else []
    for path in paths or [_find(name, profiles) for name in names]:
        path.unlink(missing_ok=True)


@command.command(short_help="Write a profile as a hint file for others.")
@click.argument("name")
@click.option("-o", "--output", "file", required=True, metavar="FILE", help="Hint file to write.")
@folder_option
def export(name, file, profiles):
    """Write the profile NAME to a hint file, which other users pass to `forebay run --hints`. It
    has the paths of all files that the program has read, and its command line."""
    check_new_file(file)
    path = _find(name, profiles)
    _load(path)
    with atomic_output.atomic_write(file) as place:
        shutil.copyfile(path, place)
    print_line(None, f"{file}: {units.items(len(_load(path)['hint']), 'hint')}")


def _folder(profiles: Path | None) -> Path:
    folder = profiles or run_job.default_profiles()
    if folder is None:
        raise ForebayError("find profiles: you have no home directory; name one with --profiles")
    return folder


def _find(name: str, profiles: Path | None) -> Path:
    """The profile with this name, or the only one whose name begins so."""
    folder = _folder(profiles)
    paths = {path.stem: path for path in folder.glob("*" + SUFFIX)}
    found = [path for stem, path in sorted(paths.items()) if stem.startswith(name)]
    if name in paths:
        return paths[name]
    if len(found) != 1:
        cause = "several profiles begin so" if found else "no profile has this name"
        raise ForebayError(f"{name} in {folder}: {cause}; `forebay profile ls` lists all")
    return found[0]


def _load(path: Path) -> dict:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        if not all({"file", "signature"} <= set(hint) for hint in document.get("hint", [])):
            raise ValueError("a hint has no file or no signature")
    except (OSError, TypeError, ValueError) as error:
        raise ForebayError(f"read {path}: {error}; remove it with `forebay profile rm`") from None
    return {"hint": [], "command": "", **document}


def _describe(path: Path) -> dict:
    status = path.stat()
    try:
        document = _load(path)
    except ForebayError:
        document = {"hint": [], "command": "(damaged)"}
    hints = document["hint"]
    return {
        "name": path.stem,
        "command": document["command"],
        "files": len({hint["file"] for hint in hints}),
        "reads": sum(hint.get("reads", 0) for hint in hints),
        "bytes": status.st_size,
        "modified": status.st_mtime,
    }


def _print_list(console, profiles: list[dict]) -> None:
    from rich.markup import escape

    from forebay.report.terminal import table

    result = table("Profiles", "name", "files", "reads", "written", "command", right=(1, 2), fold=4)
    for one in profiles:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(one["modified"]))
        counts = (units.count(one["files"]), units.count(one["reads"]))
        result.add_row(one["name"], *counts, when, escape(one["command"]))
    console.print(result)


def _print_hints(console, document: dict) -> None:
    from rich.markup import escape

    from forebay.report.terminal import table

    result = table(document["name"], "file", "reads", "in loops", "signature", right=(1, 2), fold=3)
    for hint in document["hints"]:
        share = f"{100 * hint.get('explained', 1):.0f} %"
        result.add_row(
            escape(hint["file"]), units.count(hint.get("reads", 0)), share, hint["signature"]
        )
    console.print(result)
    console.print(document["command"], markup=False)
