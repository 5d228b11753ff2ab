# SPDX-License-Identifier: Apache-2.0
"""Requests to the models of steps and reads, and variants of machine files."""

import contextlib
import json
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from forebay import native
from forebay.errors import ForebayError

Constants = Mapping[tuple[str, str], float]  # (table, key): value


def simulate_steps(request: dict) -> list[dict]:
    """The results of all plans, in their order. Raises the first error of a plan."""
    return checked(native.tools().model_steps(request)["plans"])


def checked(plans: list[dict]) -> list[dict]:
    """`plans`, or the first error of a plan as a ForebayError."""
    for one in plans:
        if "error" in one:
            raise ForebayError(f"simulate {json.dumps(one['plan'])}: {one['error']}")
    return plans


def show_machine(name: str) -> dict:
    """The document of `forebay machine show`."""
    return native.tools().show_machine(name)


def read_machine(name: str) -> dict:
    """The machine file as a document, with all defaults."""
    return tomllib.loads(show_machine(name)["toml"])


@contextlib.contextmanager
def machine_with(machine: dict, constants: Constants) -> Iterator[str]:
    """Yields the path of a machine file with other constants. The file exists in the `with` block
    only."""
    import tomli_w

    changed = json.loads(json.dumps(machine))
    for (table, key), value in constants.items():
        changed.setdefault(table, {})[key] = value
    with tempfile.TemporaryDirectory(prefix="forebay-model-") as folder:
        path = Path(folder) / f"{machine['name']}.toml"
        path.write_text(tomli_w.dumps(changed), encoding="utf-8")
        yield str(path)
