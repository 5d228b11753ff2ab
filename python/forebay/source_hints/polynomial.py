# SPDX-License-Identifier: Apache-2.0
"""Integers of a C program as polynomials of symbols: what is not known when it is read."""

import itertools
from collections.abc import Iterable, Iterator

_numbers = itertools.count()


class Symbol:
    """An unknown integer. `loop` is the loop in which it changes, None if it is constant. It also
    changes with its `inputs`, from which the program computes it in an unknown way."""

    def __init__(self, name: str, loop=None, inputs: tuple["Polynomial", ...] = ()):
        self.name, self.loop, self.inputs = name, loop, inputs
        self.number = next(_numbers)

    def loops(self) -> Iterator:
        """The loops in which it changes."""
        if self.loop is not None:
            yield self.loop
        for one in self.inputs:
            yield from one.loops()

    def __lt__(self, other: "Symbol") -> bool:
        return self.number < other.number


Product = tuple[Symbol, ...]  # sorted


class Polynomial:
    """An immutable sum of products with integer factors."""

    def __init__(self, terms: dict[Product, int]):
        self.terms = {product: factor for product, factor in terms.items() if factor != 0}

    @staticmethod
    def of(value: "int | Symbol | Polynomial") -> "Polynomial":
        if isinstance(value, Polynomial):
            return value
        return Polynomial({(): value} if isinstance(value, int) else {(value,): 1})

    @property
    def constant(self) -> int | None:
        """The value, if it is known."""
        return None if any(self.terms.keys() - {()}) else self.terms.get((), 0)

    def __eq__(self, other) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(frozenset(self.terms.items()))

    def __add__(self, other) -> "Polynomial":
        terms = dict(self.terms)
        for product, factor in Polynomial.of(other).terms.items():
            terms[product] = terms.get(product, 0) + factor
        return Polynomial(terms)

    def __mul__(self, other) -> "Polynomial":
        result: dict[Product, int] = {}
        for left, right in itertools.product(
            self.terms.items(), Polynomial.of(other).terms.items()
        ):
            product = tuple(sorted(left[0] + right[0]))
            result[product] = result.get(product, 0) + left[1] * right[1]
        return Polynomial(result)

    def __sub__(self, other) -> "Polynomial":
        return self + Polynomial.of(other) * -1

    def symbols(self) -> Iterable[Symbol]:
        return sorted({symbol for product in self.terms for symbol in product})

    def loops(self) -> Iterator:
        for symbol in self.symbols():
            yield from symbol.loops()

    def split(self, symbol: Symbol) -> tuple["Polynomial", "Polynomial"] | None:
        """The factor of the symbol, and the rest; None if it has a higher power."""
        factor, rest = {}, {}
        for product, number in self.terms.items():
            others = tuple(one for one in product if one is not symbol)
            if len(product) - len(others) > 1:
                return None
            (rest if others == product else factor)[others] = number
        return Polynomial(factor), Polynomial(rest)

    def substitute(self, values: dict[Symbol, "Polynomial"], intern) -> "Polynomial":
        """`intern` returns the symbol of the same computation with other inputs."""
        result = Polynomial({})
        for product, factor in self.terms.items():
            term = Polynomial.of(factor)
            for symbol in product:
                term *= _substitute_symbol(symbol, values, intern)
            result += term
        return result


def _substitute_symbol(symbol: Symbol, values: dict[Symbol, Polynomial], intern) -> Polynomial:
    if symbol in values:
        return values[symbol]
    if not symbol.inputs:
        return Polynomial.of(symbol)
    inputs = tuple(one.substitute(values, intern) for one in symbol.inputs)
    return Polynomial.of(intern(symbol, inputs))
