# SPDX-License-Identifier: Apache-2.0
"""Reference pages of the command `forebay`, with the texts of its `--help`."""

import importlib
import inspect
import re

import click

from forebay.cli import COMMANDS

_FOLDER = "reference/commands"


def _prose(text: str) -> str:
    """A help text as Markdown: `\\b` marks paragraphs whose lines stay as they are."""
    blocks = re.split(r"\n\n+", inspect.cleandoc(text or "").partition("\f")[0])
    marked = [block.removeprefix("\b\n") for block in blocks]
    return "\n\n".join(
        f"```text\n{new}\n```" if new != old else old.replace("<", "&lt;")
        for old, new in zip(blocks, marked, strict=True)
    )


def _options(command: click.Command, context: click.Context) -> str:
    options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    records = filter(None, (one.get_help_record(context) for one in options))
    rows = [f"| <code>{_cell(name)}</code> | {_cell(text)} |" for name, text in records]
    return "\n".join(["| option | meaning |", "|---|---|", *rows])


def _cell(text: str) -> str:
    replacements = {"|": "&#124;", "<": "&lt;", "[": "&#91;", "*": "&#42;"}
    return " ".join(text.split()).translate(str.maketrans(replacements))


def _section(command: click.Command, context: click.Context, level: int) -> str:
    """A command and its subcommands, with headings from this level on."""
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [
        f"{'#' * level} {context.command_path}",
        _prose(command.help),
        f"```text\n{context.command_path} {usage}\n```",
        _options(command, context),
    ]
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            parts.append(_section(inner, _context_of(inner, name, context), level + 1))
    return "\n\n".join(parts)


def _context_of(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    settings = command.context_settings | {"show_default": False}
    return click.Context(command, info_name=name, parent=parent, **settings)


def _page(name: str) -> str:
    module, _, attribute = COMMANDS[name][0].partition(":")
    command = getattr(importlib.import_module(module), attribute or "command")
    return _section(command, _context_of(command, f"forebay {name}", None), 1) + "\n"


def pages() -> dict[str, str]:
    """The reference of the command by place on the site."""
    rows = "".join(
        f"| [`forebay {name}`]({name}.md) | {COMMANDS[name][1]} |\n" for name in COMMANDS
    )
    head = "# Commands\n\nEach page has the text of `--help`.\n\n| command | result |\n|---|---|\n"
    made = {f"{_FOLDER}/{name}.md": _page(name) for name in COMMANDS}
    return {f"{_FOLDER}/index.md": head + rows} | made
