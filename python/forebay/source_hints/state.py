# SPDX-License-Identifier: Apache-2.0
"""Values of the variables of a program at one place of it."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from forebay.source_hints.polynomial import Polynomial, Symbol


@dataclass(frozen=True)
class Variable:
    """What has a value: a variable or the memory behind it (`place`: its declaration), or the
    position of a file (`place`: the value of its descriptor)."""

    kind: str  # "value", "memory" or "position"
    name: str = field(compare=False)
    place: Hashable


class State:
    """A variable without value gets that of `unknown`, once."""

    def __init__(self, unknown: Callable[[Variable], Polynomial]):
        self.values: dict[Variable, Polynomial] = {}
        self.first: dict[Variable, Polynomial] = {}  # the values of `unknown`; copies share it
        self._unknown = unknown

    def copy(self) -> "State":
        result = State(self._unknown)
        result.values, result.first = dict(self.values), self.first
        return result

    def read(self, variable: Variable) -> Polynomial:
        if variable not in self.values:
            if variable not in self.first:
                self.first[variable] = self._unknown(variable)
            self.values[variable] = self.first[variable]
        return self.values[variable]


def program_state() -> State:
    """Before the first statement. Memory has no other version there."""

    def unknown(variable: Variable) -> Polynomial:
        return Polynomial({}) if variable.kind == "memory" else Polynomial.of(Symbol(variable.name))

    return State(unknown)


def state_in_loop(loop) -> State:
    """At the begin of any repetition: every variable may have changed."""
    return State(lambda variable: Polynomial.of(Symbol(variable.name, loop)))


def merge(states: list[State], loop) -> State:
    """After a condition: variables that differ are unknown, and change in `loop`."""
    result = states[0].copy()
    for other in states[1:]:
        for variable in [*result.values, *other.values]:
            if result.read(variable) != other.read(variable):
                result.values[variable] = Polynomial.of(Symbol(variable.name, loop))
    return result
