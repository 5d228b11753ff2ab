# SPDX-License-Identifier: Apache-2.0
"""Tuning profiles: docs/formats/tuning-profile.md. Reads, checks, merges and writes them."""

import math
import tomllib
from pathlib import Path
from statistics import pstdev
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from forebay import atomic_output
from forebay.errors import ForebayError
from forebay.sizes import parse_size

FILE_BYTES_MAX = 4 << 20
POINTS_MAX = 256
SECONDS_MAX = 64
IMBALANCED_FROM = 1.5
PLAN_KEYS = ("strategy", "writers", "files")

Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=2**32 - 1)]


def _bytes_of(value):
    return parse_size(value, "a size") if isinstance(value, str) else value


def _plan_of(plan):
    """A plan with its sizes as numbers."""
    if not isinstance(plan, dict) or any(key not in plan for key in PLAN_KEYS):
        raise ValueError(f"a plan needs {', '.join(PLAN_KEYS)}")
    return {key: _bytes_of(one) if key.endswith("_bytes") else one for key, one in plan.items()}


PlanTable = Annotated[dict, BeforeValidator(_plan_of)]


class Point(BaseModel):
    """A measured plan."""

    model_config = ConfigDict(extra="forbid")

    plan: PlanTable
    predicted_s: Seconds | None = None
    seconds: Annotated[list[Seconds], Field(max_length=SECONDS_MAX)]
    failures: Annotated[int, Field(ge=0)] = 0


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

    def scope(self) -> tuple:
        """What two entries have in common if the newer one replaces the other."""
        kernel_class = (round(math.log2(self.rank_bytes)), self.imbalance > IMBALANCED_FROM)
        return (self.machine_hash, kernel_class, self.ranks, self.nodes)


class Profile(BaseModel):
    model_config = ConfigDict(extra="forbid")

    format: Literal[1]
    entries: list[Entry] = []


def spread_of(seconds: list[float]) -> float:
    """Standard deviation of the logarithms."""
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
    points = {_key(one.plan): one for one in old.points}
    for one in new.points:
        before = points.get(_key(one.plan))
        if before is not None:
            seconds = [*before.seconds, *one.seconds][-SECONDS_MAX:]
            failures = before.failures + one.failures
            one = one.model_copy(update={"seconds": seconds, "failures": failures})
        points[_key(one.plan)] = one
    kept = [*points.values()][:POINTS_MAX]
    return new.model_copy(update={"points": kept, "runs": old.runs + 1})


def _key(plan: dict) -> tuple:
    return tuple(sorted(plan.items()))


def _write(path: Path, profile: Profile) -> None:
    import tomli_w

    document = profile.model_dump(exclude_none=True)
    for entry in document["entries"]:
        for one in entry["points"]:
            if not one["failures"]:
                del one["failures"]
    atomic_output.write_text(path, tomli_w.dumps(document))
