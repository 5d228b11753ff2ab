# SPDX-License-Identifier: Apache-2.0
"""Distributions of kernel files (docs/formats/kernel.md#distributions)."""

from itertools import accumulate
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from forebay.errors import ForebayError
from forebay.sizes import parse_size

PARTS_MAX = 32
VALUES_MAX = 4096
BALANCE_MAX = 32

Drawn = Literal["call", "step", "writer"]


def _number(value):
    """Sizes may be text."""
    if not isinstance(value, str):
        return value
    try:
        return parse_size(value, "")
    except ForebayError:
        raise ValueError(f"{value!r} is not a size; write 4096 or 64MiB") from None


Number = Annotated[float, BeforeValidator(_number), Field(allow_inf_nan=False)]
Positive = Annotated[float, BeforeValidator(_number), Field(gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1)]


class _Family(BaseModel):
    model_config = ConfigDict(extra="forbid")

    drawn: Drawn | None = None
    weight: Annotated[float, Field(gt=0)] | None = None  # of a part of a mixture

    def parameters(self) -> list[float]:
        return []

    def fields(self) -> dict:
        """What the native programs need besides the parameters."""
        return {}

    def plan(self, drawn: Drawn) -> dict:
        """The distribution for native programs; `drawn` applies if the file states nothing."""
        plan = {"family": self.family, "drawn": self.drawn or drawn}
        return plan | {"parameters": self.parameters()} | self.fields()


class Constant(_Family):
    family: Literal["constant"] = "constant"
    value: Number

    def parameters(self):
        return [self.value]


class Uniform(_Family):
    family: Literal["uniform"]
    low: Number
    high: Number

    @model_validator(mode="after")
    def _check(self):
        if self.low > self.high:
            raise ValueError("low must not exceed high")
        return self

    def parameters(self):
        return [self.low, self.high]


class Exponential(_Family):
    family: Literal["exponential"]
    mean: Positive
    low: Number = 0

    @model_validator(mode="after")
    def _check(self):
        if self.mean <= self.low:
            raise ValueError("mean must exceed low")
        return self

    def parameters(self):
        return [self.mean, self.low]


class Normal(_Family):
    family: Literal["normal"]
    mean: Number
    deviation: Positive

    def parameters(self):
        return [self.mean, self.deviation]


class Skewed(_Family):
    family: Literal["lognormal", "gamma"]
    mean: Positive
    deviation: Positive

    def parameters(self):
        return [self.mean, self.deviation]


def _cumulative(weights: list[float]) -> list[float]:
    """The last one is exactly 1."""
    total = sum(weights)
    return [*(one / total for one in accumulate(weights[:-1])), 1.0]


class Table(_Family):
    family: Literal["table"]
    values: Annotated[list[Number], Field(min_length=1, max_length=VALUES_MAX)]
    weights: list[Annotated[float, Field(gt=0)]] | None = None

    @model_validator(mode="after")
    def _check(self):
        if self.weights is not None and len(self.weights) != len(self.values):
            raise ValueError("values and weights must have the same length")
        return self

    def fields(self):
        weights = self.weights or [1.0] * len(self.values)
        return {"values": self.values, "weights": _cumulative(weights)}


class Quantiles(_Family):
    family: Literal["quantiles"]
    values: Annotated[list[Number], Field(min_length=2, max_length=VALUES_MAX)]

    @model_validator(mode="after")
    def _check(self):
        if sorted(self.values) != self.values:
            raise ValueError("values must ascend")
        return self

    def fields(self):
        return {"values": self.values}


class Walkers(_Family):
    family: Literal["walkers"]
    walkers: Positive
    bytes: Positive
    branch: Share
    die: Share
    balance: Annotated[int, Field(ge=1, le=BALANCE_MAX)]
    drift: Annotated[float, Field(gt=-1, lt=1)] = 0

    def parameters(self):
        return [self.walkers, self.bytes, self.branch, self.die, self.drift]

    def fields(self):
        return {"balance": self.balance}


class Replay(_Family):
    family: Literal["replay"]
    file: str

    _array = None  # set by KernelFile, which has the directory

    def load(self, folder) -> None:
        import numpy

        path = folder / self.file
        try:
            array = numpy.load(path, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise ForebayError(f"read {path}: {error}; numpy.save() writes such files") from None
        if array.ndim not in (2, 3) or array.size == 0 or array.dtype.kind not in "iuf":
            shapes = "(steps, writers) or (steps, writers, calls)"
            raise ForebayError(f"read {path}: the array must have numbers in the shape {shapes}")
        if not numpy.isfinite(array).all():
            raise ForebayError(f"read {path}: the array has values that are not finite")
        self._array = array.reshape(*array.shape[:2], -1)

    def set_values(self, values) -> None:
        """In place of a file: (steps, writers), or (steps, writers, calls)."""
        import numpy

        array = numpy.asarray(values)
        self._array = array.reshape(*array.shape[:2], -1)

    def fields(self):
        return {"values": self._array.astype(float).ravel().tolist(), "shape": self._array.shape}


class Mixture(_Family):
    family: Literal["mixture"]
    parts: Annotated[list["Part"], Field(min_length=1, max_length=PARTS_MAX)]

    @model_validator(mode="after")
    def _check(self):
        if any(part.weight is None for part in self.parts):
            raise ValueError("each part needs a weight")
        return self

    def fields(self):
        weights = [part.weight for part in self.parts]
        parts = [part.plan("call") for part in self.parts]
        return {"parts": parts, "weights": _cumulative(weights)}


Part = Annotated[
    Constant | Uniform | Exponential | Normal | Skewed | Table | Quantiles,
    Field(discriminator="family"),
]
Mixture.model_rebuild()


def _names(family) -> tuple[str, ...]:
    return get_args(family.model_fields["family"].annotation)


def _distribution(value):
    """A plain number or size is a constant."""
    return value if isinstance(value, dict | BaseModel) else {"family": "constant", "value": value}


Distribution = Annotated[
    Constant
    | Uniform
    | Exponential
    | Normal
    | Skewed
    | Table
    | Quantiles
    | Walkers
    | Replay
    | Mixture,
    Field(discriminator="family"),
]
FAMILIES = {name for one in get_args(get_args(Distribution)[0]) for name in _names(one)}
NumberOrDistribution = Annotated[Distribution, BeforeValidator(_distribution)]
