# SPDX-License-Identifier: Apache-2.0
"""The numbers of the slides that Forebay repeats, each with its deck and place."""

import functools
import tomllib
from pathlib import Path

Cell = tuple[int, int]  # writers, files


@functools.cache
def tables() -> dict[str, dict]:
    """All tables by name. Callers do not change them."""
    return tomllib.loads(Path(__file__).with_name("tables.toml").read_text(encoding="utf-8"))


def grid(name: str) -> dict[Cell, float]:
    """The cells of a table of writers and files."""
    return {(writers, files): value for writers, files, value in tables()[name]["cells"]}


def citation(name: str) -> str:
    table = tables()[name]
    return f"{tables()['decks'][table['deck']]}, {table['place']}"
