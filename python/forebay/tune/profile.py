# SPDX-License-Identifier: Apache-2.0
"""Tuning profiles: docs/formats/tuning-profile.md. Reads, checks, merges and writes them."""

import math
import tomllib
from pathlib import Path
from statistics import median, pstdev
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from forebay import atomic_output
from forebay.errors import ForebayError
from forebay.sizes import parse_size
from forebay.strategies import PRESETS
from forebay.tune.plans import EXCHANGES, key_of

FILE_BYTES_MAX = 4 << 20
POINTS_MAX = 256
SECONDS_MAX = 64
IMBALANCED_FROM = 1.5

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=2**32 - 1)]
COUNT = TypeAdapter(Count)
SCALAR = TypeAdapter(Annotated[int, Field(ge=0)] | str)


def _bytes_of(value):
    try:
        return parse_size(value, "a size") if isinstance(value, str) else value
    except ForebayError as error:
        raise ValueError(str(error)) from None


RULES = {"strategy": TypeAdapter(Literal[PRESETS]), "writers": COUNT, "files": COUNT}


def _plan_of(plan):
    """A plan with its sizes as numbers. The library checks the values of all other keys."""
    if not isinstance(plan, dict) or any(key not in plan for key in RULES):
        raise ValueError(f"a plan needs {', '.join(RULES)}")
    found = {key: _bytes_of(one) if key.endswith("_bytes") else one for key, one in plan.items()}
    for key, value in found.items():
        rule = RULES.get(key, SCALAR)
        try:
            rule.validate_python(value, strict=True)
        except ValidationError as error:
            raise ValueError(f"{key}: {error.errors()[0]['msg']}") from None
    return found


PlanTable = Annotated[dict, BeforeValidator(_plan_of)]


class Point(BaseModel):
    """A measured plan."""

    model_config = ConfigDict(extra="forbid")

    plan: PlanTable
    predicted_s: Seconds | None = None
    seconds: Annotated[list[Seconds], Field(max_length=SECONDS_MAX)]
    failures: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _check(self):
        if not self.seconds and not self.failures:
            raise ValueError("seconds is empty; add a number, or failures")
        return self

    def scaled(self, factor: float) -> "Point":
        """For steps with this factor of bytes."""
        predicted = None if self.predicted_s is None else factor * self.predicted_s
        seconds = [factor * one for one in self.seconds]
        return self.model_copy(update={"predicted_s": predicted, "seconds": seconds})


class Entry(BaseModel):
    """The best plan for a machine, a class of kernels and a scale."""

    model_config = ConfigDict(extra="forbid")

    machine: str = ""
    machine_hash: str = ""
    ranks: Count
    nodes: Count
    rank_bytes: Annotated[int, BeforeValidator(_bytes_of), Field(ge=1, le=1 << 50)]
    imbalance: Annotated[float, Field(ge=1, le=1e6)] = 1.0
    median_s: Seconds
    spread: Annotated[float, Field(ge=0, le=10)] = 0.0
    runs: Count = 1
    plan: PlanTable
    points: Annotated[list[Point], Field(max_length=POINTS_MAX)] = []

    @model_validator(mode="after")
    def _check(self):
        if self.nodes > self.ranks:
            raise ValueError(f"nodes is {self.nodes}, at most the {self.ranks} ranks")
        return self

    def with_times(self, seconds: list[float]) -> "Entry":
        return self.model_copy(update={"median_s": median(seconds), "spread": spread_of(seconds)})

    def scope(self) -> tuple:
        """What two entries have in common if the newer one replaces the other."""
        kernel_class = (round(math.log2(self.rank_bytes)), self.imbalance > IMBALANCED_FROM)
        return (self.machine_hash, kernel_class, self.ranks, self.nodes)


class Profile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    format: Literal[1]
    entries: list[Entry] = []


def spread_of(seconds: list[float]) -> float:
    """Population standard deviation of the logarithms."""
    return pstdev([math.log(one) for one in seconds]) if len(seconds) > 1 else 0.0


def read_profile(path: Path) -> Profile:
    try:
        content = path.read_bytes()
        if len(content) > FILE_BYTES_MAX:
            raise ForebayError(f"read {path}: a tuning profile has at most 4 MiB")
        return Profile.model_validate(tomllib.loads(content.decode()))
    except OSError as error:
        raise ForebayError(f"read {path}: {error.strerror}; check the path") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ForebayError(f"read {path}: it is not TOML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise ForebayError(f"read {path}: {place}: {first['msg']}; correct it") from None


def add_entry(path: Path, entry: Entry) -> None:
    """Merges an entry into a profile, which is created if it does not exist. A profile that is
    invalid is not changed."""
    profile = read_profile(path) if path.exists() else Profile(format=1)
    old = next((one for one in profile.entries if one.scope() == entry.scope()), None)
    merged = entry if old is None else _merge(old, entry)
    kept = [one for one in profile.entries if one is not old]
    _write(path, Profile(format=1, entries=[*kept, merged]))


def _merge(old: Entry, new: Entry) -> Entry:
    """Times of the old entry are scaled to the bytes of the new one."""
    points = {_key(one.plan): one.scaled(new.rank_bytes / old.rank_bytes) for one in old.points}
    for one in new.points:
        before = points.get(_key(one.plan))
        if before is not None:
            seconds = [*before.seconds, *one.seconds][-SECONDS_MAX:]
            failures = before.failures + one.failures
            one = one.model_copy(update={"seconds": seconds, "failures": failures})
        points[_key(one.plan)] = one
    kept = [*points.values()][:POINTS_MAX]
    merged = new.model_copy(update={"points": kept, "runs": old.runs + 1})
    best = points.get(_key(new.plan))
    return merged.with_times(best.seconds) if best and best.seconds else merged


def _key(plan: dict) -> tuple:
    """Equal for plans that differ only in naming the usual exchange."""
    usual = EXCHANGES.get(plan["strategy"], (None,))[0]
    return key_of({"exchange": usual} | plan)


def _write(path: Path, profile: Profile) -> None:
    import tomli_w

    document = profile.model_dump(exclude_none=True)
    for entry in document["entries"]:
        for one in entry["points"]:
            if not one["failures"]:
                del one["failures"]
    atomic_output.write_text(path, tomli_w.dumps(document))
