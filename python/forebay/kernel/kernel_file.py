# SPDX-License-Identifier: Apache-2.0
"""Kernel files: docs/formats/kernel.md. Reads, checks and writes them, and makes the document that
the native programs read."""

import difflib
import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from forebay.errors import EXIT_USAGE, ForebayError
from forebay.kernel.distribution import FAMILIES, Constant, NumberOrDistribution, Replay

FILE_BYTES_MAX = 1 << 20
NUMBERS_MAX = 40  # of a fitted kernel
SHIPPED = Path(__file__).parent / "shipped"
SUFFIX = ".toml"

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=64)]
Ranks = Annotated[str, Field(pattern=r"^(all|-?\d+|(-?\d+)?:(-?\d+)?(:\d+)?)$")]


class Operation(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    name: Name
    do: Literal["write", "read"]
    source: Annotated[str | None, Field(alias="from")] = None
    when: Literal["each", "before", "first", "last"] = "each"
    every: Annotated[int, Field(ge=1, le=1 << 20)] = 1
    ranks: Ranks = "all"
    calls: NumberOrDistribution = Constant(value=1)
    size: NumberOrDistribution | None = None
    unit_bytes: Annotated[int, Field(ge=1, le=4096)] = 8
    offsets: str | None = None

    @model_validator(mode="after")
    def _check(self):
        if self.offsets is not None and self.size is not None:
            raise ValueError("offsets replaces size; leave one of both out")
        if self.do == "write" and self.offsets is None and self.size is None:
            raise ValueError("a write needs size or offsets")
        if (self.do == "read") != (self.source is not None):
            raise ValueError("a read, and no write, needs from = the name of a write")
        if self.do == "read" and self.when == "before":
            raise ValueError('only writes are done "before" the clock starts')
        return self

    def due_steps(self, steps: int) -> range:
        """The steps that do this operation, of a kernel with `steps` steps."""
        if self.when == "each":
            return range(self.every - 1, steps, self.every)
        return {"before": range(0), "first": range(1), "last": range(steps - 1, steps)}[self.when]

    def rank_range(self, writers: int) -> list[int]:
        if self.ranks == "all":
            return [0, writers, 1]
        if ":" not in self.ranks:
            first = range(writers)[int(self.ranks)]
            return [first, first + 1, 1]
        words = [int(word) if word else None for word in self.ranks.split(":")]
        chosen = range(writers)[slice(*words)]
        return [chosen.start, chosen.stop, chosen.step]

    def plan(self, writers: int, writes: dict[str, int]) -> dict:
        plan = {
            "name": self.name,
            "do": self.do,
            "when": self.when,
            "every": self.every,
            "ranks": self.rank_range(writers),
            "unit_bytes": self.unit_bytes,
            "calls": self.calls.plan("step"),
        }
        if self.source is not None:
            plan["from"] = writes[self.source]
        if self.size is not None:
            plan["size"] = self.size.plan("call")
        if self.offsets is not None:
            plan["offsets"] = self.offsets
        return plan


class Kernel(BaseModel):
    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    format: Literal[1]
    name: Name
    about: str = ""
    source: str = ""
    writers: Annotated[int, Field(ge=1, le=1 << 24)]
    steps: Annotated[int, Field(ge=1, le=1 << 20)] = 1
    seed: Annotated[int, Field(ge=0, le=2**63 - 1)] = 1
    compute_s: NumberOrDistribution = Constant(value=0)
    names: Annotated[dict[str, str], Field(max_length=13)] = {}
    operations: Annotated[list[Operation], Field(alias="operation", min_length=1, max_length=32)]

    @model_validator(mode="after")
    def _check(self):
        seen: set[str] = set()
        all_writes = {one.name for one in self.operations if one.do == "write"}
        for one in self.operations:
            if one.name in seen:
                raise ValueError(f"two operations have the name {one.name!r}")
            seen.add(one.name)
            if one.do == "read" and one.source not in all_writes:
                raise ValueError(f"{one.name}: no write has the name {one.source!r}")
        return self

    def step_writes(self) -> list[Operation]:
        """Operations that write in a step. Raises a ForebayError if there are none."""
        found = [one for one in self.operations if one.do == "write" and one.due_steps(self.steps)]
        if not found:
            message = f"kernel {self.name}: it writes nothing in its steps; take one that writes"
            raise ForebayError(message, EXIT_USAGE)
        return found

    def plan(self, writers: int | None = None) -> dict:
        """The document for native programs."""
        writers = writers or self.writers
        writes = {one.name: number for number, one in enumerate(self.operations)}
        return {
            "name": self.name,
            "writers": writers,
            "steps": self.steps,
            "seed": self.seed,
            "compute_s": self.compute_s.plan("step"),
            "names": [{"name": n, "expression": text} for n, text in self.names.items()],
            "operations": [self._planned(one, writers, writes) for one in self.operations],
        }

    def _planned(self, operation: Operation, writers: int, writes: dict[str, int]) -> dict:
        try:
            return operation.plan(writers, writes)
        except (IndexError, ValueError):
            message = f"kernel {self.name}, operation {operation.name}: ranks"
            message += f" {operation.ranks!r} are not among {writers} writers"
            raise ForebayError(message, EXIT_USAGE) from None

    def count_numbers(self) -> int:
        """The numbers of the file, as docs/formats/kernel.md counts them."""
        document = self.model_dump(exclude_defaults=True, exclude={"format", "seed"})
        return count_numbers(document)


def count_numbers(value) -> int:
    """The numbers of a part of the file, without its default values."""
    if isinstance(value, dict):
        texts = [value.get("offsets"), value.get("ranks"), *value.get("names", {}).values()]
        in_texts = sum(len(re.findall(r"\d+", text)) for text in texts if text)
        return in_texts + sum(map(count_numbers, value.values()))
    if isinstance(value, list | tuple):
        return sum(map(count_numbers, value))
    return int(isinstance(value, int | float) and not isinstance(value, bool))


def shipped_kernels() -> list[str]:
    return sorted(path.stem for path in SHIPPED.glob(f"*{SUFFIX}"))


def find_kernel(name: str) -> Path:
    """The path of a kernel file, or of a kernel that Forebay ships."""
    path = Path(name)
    if path.exists() or "/" in name or name.endswith(SUFFIX):
        return path
    shipped = SHIPPED / f"{name}{SUFFIX}"
    if shipped.exists():
        return shipped
    known = ", ".join(shipped_kernels())
    raise ForebayError(f"no kernel {name}: it is neither a file nor one of {known}", EXIT_USAGE)


def read_kernel(name: str) -> Kernel:
    """A kernel by its path or its name."""
    path = find_kernel(name)
    try:
        with path.open("rb") as file:
            content = file.read(FILE_BYTES_MAX + 1)
        if len(content) > FILE_BYTES_MAX:
            raise ForebayError(f"read {path}: a kernel file has at most 1 MiB")
        document = tomllib.loads(content.decode())
    except OSError as error:
        raise ForebayError(f"read {path}: {error.strerror}; check the path") from None
    except UnicodeDecodeError:
        raise ForebayError(f"read {path}: it is not UTF-8, so no kernel file") from None
    except tomllib.TOMLDecodeError as error:
        raise ForebayError(f"read {path}: {error}; docs/formats/kernel.md has the format") from None
    kernel = make_kernel(document, str(path))
    for one in _distributions(kernel):
        if isinstance(one, Replay):
            one.load(path.parent)
    return kernel


def _distributions(kernel: Kernel):
    yield kernel.compute_s
    for operation in kernel.operations:
        yield operation.calls
        if operation.size is not None:
            yield operation.size


def make_kernel(document: dict, path: str) -> Kernel:
    """Checks a document; the error names the key, and the nearest right one."""
    try:
        return Kernel.model_validate(document)
    except ValidationError as error:
        raise ForebayError(f"{path}: {_describe(error, document)}") from None


def sized_kernel(
    size: dict, writers: int, steps: int, seed: int = 1, name: str = "draws"
) -> Kernel:
    """One write in each step, of a distribution of sizes."""
    operation = {"name": "block", "do": "write", "size": size}
    document = {"format": 1, "name": name, "writers": writers, "steps": steps, "seed": seed}
    return make_kernel(document | {"operation": [operation]}, name)


def _describe(error: ValidationError, document: dict) -> str:
    errors = error.errors()  # a misspelled key explains why another one is missing
    first = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])
    place = [str(part) for part in first["loc"] if part not in FAMILIES]
    if first["type"] == "extra_forbidden":
        known = _known_keys(place)
        near = difflib.get_close_matches(place[-1], known, 1)
        hint = f"write {near[0]}" if near else f"known are {', '.join(known)}"
        return f"unknown key {'.'.join(place)}; {hint}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{'.'.join(place) or 'kernel'}: {message[0].lower()}{message[1:]}"


def _known_keys(place: list[str]) -> list[str]:
    model = Operation if "operation" in place and len(place) <= 3 else Kernel
    if place[0] == "operation" and len(place) > 3:
        return ["family", "drawn", "mean", "deviation", "low", "high", "value", "values", "weights"]
    return [field.alias or name for name, field in model.model_fields.items()]


def write_kernel(kernel: Kernel, path: Path) -> None:
    """Writes the file as a whole, or not at all."""
    from forebay.atomic_output import atomic_write

    with atomic_write(path) as temporary:
        temporary.write_text(to_toml(kernel), encoding="utf-8")


def to_toml(kernel: Kernel) -> str:
    import tomli_w

    document = kernel.model_dump(exclude_defaults=True, exclude_none=True, by_alias=True)
    return tomli_w.dumps(_plain({"format": 1} | document))


def _plain(value):
    """Constants become numbers, and whole numbers integers."""
    if isinstance(value, dict):
        if value.get("family", "constant") == "constant" and set(value) <= {"family", "value"}:
            return _plain(value.get("value", 0))
        family = {"family": "constant"} if "value" in value else {}  # the default is not dumped
        return family | {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value
