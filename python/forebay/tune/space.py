# SPDX-License-Identifier: Apache-2.0
"""Spaces of plans. A space has typed parameters and constraints; its plans are enumerated, and
encoded as features from 0 to 1."""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from forebay.errors import ForebayError

PLANS_MAX = 200_000  # of a space, before constraints

Plan = dict  # {name of a parameter: value}
Constraint = Callable[[Plan], bool]


@dataclass(frozen=True)
class Parameter:
    """A name, and all values in order. encode() returns the features of a value, from 0 to 1."""

    name: str
    values: tuple


class Categorical(Parameter):
    """A parameter without order. Each value has a feature of its own."""

    def encode(self, value) -> list[float]:
        return [float(value == one) for one in self.values]


class LogInteger(Parameter):
    """Ascending positive integers on a logarithmic scale."""

    def encode(self, value) -> list[float]:
        low, high = self.values[0], self.values[-1]
        return [math.log(value / low) / math.log(high / low) if high > low else 0.0]


def powers_of_two(low: int, high: int) -> tuple[int, ...]:
    """`low`, the powers of two between, and `high`."""
    between = (1 << power for power in range(low.bit_length(), high.bit_length() + 1))
    return tuple(sorted({low, high, *(one for one in between if one < high)}))


@dataclass(frozen=True)
class Space:
    """Parameters, and constraints that every plan satisfies."""

    parameters: tuple[Parameter, ...]
    constraints: tuple[Constraint, ...] = ()

    @cached_property
    def plans(self) -> list[Plan]:
        """All plans that satisfy the constraints."""
        count = math.prod(len(one.values) for one in self.parameters)
        if count > PLANS_MAX:
            raise ForebayError(f"the space has {count} plans, at most {PLANS_MAX}; leave some out")
        found = [plan for plan in self._all() if all(holds(plan) for holds in self.constraints)]
        if not found:
            raise ForebayError("no plan satisfies the constraints; give more memory or more ranks")
        return found

    def _all(self) -> Iterator[Plan]:
        names = [one.name for one in self.parameters]
        for values in itertools.product(*(one.values for one in self.parameters)):
            yield dict(zip(names, values, strict=True))

    @cached_property
    def features(self) -> np.ndarray:
        """The features of `plans`, a row for each."""
        return self.encode(self.plans)

    def encode(self, plans: list[Plan]) -> np.ndarray:
        return np.array(
            [
                [number for one in self.parameters for number in one.encode(plan[one.name])]
                for plan in plans
            ]
        )

    def nearest(self, plan: Plan) -> int:
        """The index of the plan with the nearest features."""
        return int(np.argmin(np.square(self.features - self.encode([plan])).sum(axis=1)))

    def at(self, shares: np.ndarray) -> Plan:
        """The values at a point of the unit cube, which may violate constraints."""
        found = {}
        for one, share in zip(self.parameters, shares, strict=True):
            found[one.name] = one.values[min(len(one.values) - 1, int(share * len(one.values)))]
        return found
