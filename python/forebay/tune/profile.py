# SPDX-License-Identifier: Apache-2.0
"""Tuning profiles: docs/formats/tuning-profile.md. A native tool reads, checks, merges and writes
them. An entry is a dict with the keys of the page; its sizes are bytes."""

import tomllib
from pathlib import Path

from forebay import native
from forebay.sizes import parse_size

POINTS_MAX = 256  # of an entry


def read_profile(path: Path) -> list[dict]:
    """The entries. Raises a ForebayError that names the line if the profile is not valid."""
    return _entries(native.tools().show_profile(path))


def add_entry(path: Path, entry: dict) -> list[dict]:
    """Merges an entry into a profile, which is replaced atomically, or created. A profile that is
    invalid is not changed. Returns all entries, the merged one last."""
    import tomli_w

    added = tomli_w.dumps({"format": 1, "entries": [entry]})
    return _entries(native.tools().merge_profile(path, added))


def _entries(document: dict) -> list[dict]:
    return [_entry(one) for one in tomllib.loads(document["toml"]).get("entries", [])]


def _entry(table: dict) -> dict:
    points = [
        {"failures": 0} | one | {"plan": _in_bytes(one["plan"])} for one in table.get("points", [])
    ]
    entry = {"machine": "", "machine_hash": ""} | _in_bytes(table)
    return entry | {"plan": _in_bytes(table["plan"]), "points": points}


def _in_bytes(table: dict) -> dict:
    return {
        key: parse_size(str(value), key) if key.endswith("_bytes") else value
        for key, value in table.items()
    }
