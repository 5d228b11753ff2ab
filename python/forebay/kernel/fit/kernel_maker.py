# SPDX-License-Identifier: Apache-2.0
"""The kernel file of the models that were chosen."""

import re
from dataclasses import dataclass, field

from forebay.kernel.fit.choice import Key, Option, choose
from forebay.kernel.fit.offsets import signature_of
from forebay.kernel.fit.sketch import LogSketch
from forebay.kernel.fit.steps import Timing
from forebay.kernel.kernel_file import NUMBERS_MAX, Kernel, count_numbers, make_kernel
from forebay.report import units

NAME_LENGTH_MAX = 40
SECONDS_DIGITS = 4


@dataclass
class Fitted:
    """A kernel, and the operations whose draws are the calls of a class and direction."""

    document: dict
    draws: dict[Key, list[str]] = field(default_factory=dict)
    repeats: dict[Key, int] = field(default_factory=dict)  # of these draws in a run
    strided: set[Key] = field(default_factory=set)

    def kernel(self, file: str) -> Kernel:
        return make_kernel(self.document, file)


def fit(log: LogSketch, timing: Timing, name: str) -> Fitted:
    document = {"format": 1, "name": slug(name), "writers": log.ranks}
    classes = units.items(len({one for one, _ in log.sketches}), "kind")
    document["about"] = f"reads and writes of {classes} of files"
    document["source"] = f"{name}, {log.source}"
    if timing.steps > 1:
        document["steps"] = timing.steps
    seconds = float(f"{timing.compute_s:.{SECONDS_DIGITS}g}")
    if seconds > 0:
        document["compute_s"] = seconds
    repeated = sum(timing.when(key).every > 1 for key in log.sketches)
    spent = count_numbers({k: v for k, v in document.items() if k != "format"}) + repeated
    chosen = choose(log, timing, NUMBERS_MAX - spent)
    made = Fitted(document)
    _add_operations(made, log, timing, chosen)
    _spend_on_offsets(made, log, timing)
    return made


def slug(text: str) -> str:
    """A name as kernel files have it."""
    found = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:NAME_LENGTH_MAX].strip("-")
    return found or "file"


def _add_operations(made: Fitted, log: LogSketch, timing: Timing, chosen: dict[str, Option]):
    names = _class_names(list(chosen))
    before, during = [], []
    for key in sorted(
        timing.windows, key=lambda key: (timing.windows[key][0][0], key[1] == "read")
    ):
        option, base = chosen.get(key[0]), names.get(key[0])
        if option is None:
            continue
        if key[1] == "write" and "write" in option.models:
            during += _writes(made, key, base, option, timing)
        if key[1] == "read" and option.reads_own:
            made.draws[key] = made.draws[key[0], "write"]
            made.repeats[key] = 1
            during += [_read_of(name, timing, key) for name in made.draws[key]]
        elif key[1] == "read" and "read" in option.models:
            data = _named(option.models["read"].operations, f"{base}-input")
            made.draws[key] = [one["name"] for one in data]
            made.repeats[key] = timing.when(key).times
            before += [one | {"when": "before"} for one in data]
            during += [_read_of(one["name"], timing, key) for one in data]
    made.document["operation"] = before + during


def _class_names(classes: list[str]) -> dict[str, str]:
    """A short name for each class: that of its files without directory and ending."""
    names: dict[str, str] = {}
    for one in classes:
        base = slug(one.rstrip("/").rpartition("/")[2].partition(".")[0].replace("#", "-"))
        taken = set(names.values())
        number = next(n for n in range(1, len(classes) + 1) if _numbered(base, n) not in taken)
        names[one] = _numbered(base, number)
    return names


def _numbered(base: str, number: int) -> str:
    return base if number == 1 else f"{base}-{number}"


def _named(operations: tuple[dict, ...], name: str) -> list[dict]:
    names = (name, f"{name}-rest")
    return [
        {"name": one, "do": "write"} | document
        for one, document in zip(names, operations, strict=False)
    ]


def _writes(made: Fitted, key: Key, base: str, option: Option, timing: Timing) -> list[dict]:
    operations = _named(option.models["write"].operations, base)
    made.draws[key] = [one["name"] for one in operations]
    made.repeats[key] = 1
    return [one | _when(timing, key) for one in operations]


def _read_of(write: str, timing: Timing, key: Key) -> dict:
    name = f"{write.removesuffix('-input').replace('-input-', '-')}-read"
    return {"name": name, "do": "read", "from": write} | _when(timing, key)


def _when(timing: Timing, key: Key) -> dict:
    found = timing.when(key)
    document = {} if found.when == "each" else {"when": found.when}
    return document | ({} if found.every == 1 else {"every": found.every})


def _spend_on_offsets(made: Fitted, log: LogSketch, timing: Timing) -> None:
    """Writes with a rule get it while numbers are left, those of most bytes first."""
    writes = {one["name"]: one for one in made.document["operation"] if one["do"] == "write"}
    for key in sorted(made.draws, key=lambda key: -log.sketches[key].bytes.sum()):
        signature = signature_of(log.sketches[key], timing.when(key).times)
        if key[1] != "write" or signature is None or len(made.draws[key]) != 1:
            continue
        operation = writes[made.draws[key][0]]
        replaced = {k: operation.pop(k) for k in ("calls", "size", "unit_bytes") if k in operation}
        operation["offsets"] = f"write {signature}"
        if _numbers(made.document) > NUMBERS_MAX:
            del operation["offsets"]
            operation.update(replaced)
        else:
            made.strided |= {one for one, names in made.draws.items() if names == made.draws[key]}


def _numbers(document: dict) -> int:
    return count_numbers({key: value for key, value in document.items() if key != "format"})
