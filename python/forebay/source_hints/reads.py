# SPDX-License-Identifier: Apache-2.0
"""The reads of a program as loops and accesses, and their text as a hint."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from forebay.source_hints.polynomial import Polynomial, Symbol

VARIABLES = "ijklmnop"
RESERVED = {"x", "read", "write", "after"}
NAME_MAX, NAMES_MAX, PRODUCTS_MAX, ITEMS_MAX, FACTORS_MAX = 64, 16, 24, 64, 8
NUMBER_MAX = 2**63 - 1


@dataclass
class Access:
    line: int
    offset: Polynomial
    size: Polynomial


@dataclass(eq=False)
class Loop:
    """`irregular`: why the reads of a file, by its descriptor, do not fit into a signature."""

    line: int
    variable: Symbol = None
    count: Polynomial = None
    items: list = field(default_factory=list)
    irregular: dict = field(default_factory=dict)
    skipped: int | None = None  # line of a `continue` in this repetition

    def __post_init__(self):
        self.variable = self.variable or Symbol(f"loop_{self.line}", self)


def numbers_of(items: list) -> Iterator[Polynomial]:
    for item in items:
        if isinstance(item, Access):
            yield from (item.offset, item.size)
        else:
            yield item.count
            yield from numbers_of(item.items)


def loops_of(items: list) -> Iterator[Loop]:
    for item in items:
        if isinstance(item, Loop):
            yield item
            yield from loops_of(item.items)


def fault_of(items: list, loop: Loop) -> str | None:
    """Why the numbers of the items are not linear in the variable of the loop around them."""
    inner = {one.variable for one in loops_of(items)}
    for number in numbers_of(items):
        for product in number.terms:
            powers = sum(symbol is loop.variable for symbol in product)
            if powers > 1 or (powers == 1 and inner.intersection(product)):
                return f"an offset, size or count is not linear in {loop.variable.name}"
            for symbol in product:
                if symbol is not loop.variable and loop in symbol.loops():
                    return f"{symbol.name} changes with {loop.variable.name} by no known rule"
    return None


class HintText:
    """The signature of items, and its parameters."""

    def __init__(self, items: list):
        self._depth = _depth_of(items)
        self._names: dict[Symbol, str] = {}
        self._products: set = set()
        self.fault = "loops are nested more than 8 deep" if self._depth > len(VARIABLES) else None
        self.signature = "" if self.fault else "read " + self._text(items, ())
        self.parameters = list(self._names.values())
        self.fault = self.fault or self._excess(items)

    def _excess(self, items: list) -> str | None:
        numbers = list(numbers_of(items))
        if len(self.parameters) > NAMES_MAX:
            return f"the signature has more than {NAMES_MAX} parameters"
        if len(self._products) > PRODUCTS_MAX or _count(items) > ITEMS_MAX:
            return "the signature exceeds the limits of a hint file"
        if any(abs(factor) > NUMBER_MAX for one in numbers for factor in one.terms.values()):
            return "a number exceeds 2^63 - 1"
        return None

    def _text(self, items: list, loops: tuple[Symbol, ...]) -> str:
        return ", ".join(self._text_of(item, loops) for item in items)

    def _text_of(self, item, loops: tuple[Symbol, ...]) -> str:
        if isinstance(item, Access):
            return f"({self._number(item.offset, loops)}, {self._number(item.size, loops)})"
        count = self._number(item.count, loops)
        return f"{{{count} x {self._text(item.items, (*loops, item.variable))}}}"

    def _number(self, number: Polynomial, loops: tuple[Symbol, ...]) -> str:
        terms = []
        for product, factor in number.terms.items():
            depths = [loops.index(one) for one in product if one in loops]
            symbols = tuple(one for one in product if one not in loops)
            if len(symbols) > FACTORS_MAX:
                self.fault = f"a product has more than {FACTORS_MAX} factors"
            self._products |= {symbols, *((one,) for one in symbols)} - {()}
            words = [self._name(one) for one in symbols] + [VARIABLES[one] for one in depths]
            terms.append(((depths or [-1])[0], len(symbols), factor, words))
        text = ""
        for _, _, factor, words in sorted(terms, key=lambda term: term[:2]):
            shown = [str(abs(factor))] if abs(factor) != 1 or not words else []
            sign = ("-" if factor < 0 else "") if not text else (" - " if factor < 0 else " + ")
            text += sign + " ".join(shown + words)
        return text or "0"

    def _name(self, symbol: Symbol) -> str:
        if symbol not in self._names:
            taken = {*self._names.values(), *RESERVED, *VARIABLES[: self._depth]}
            name = symbol.name[: NAME_MAX - 4].lstrip("_") or "value"
            choices = [name, *(f"{name}_{number}" for number in range(2, len(taken) + 3))]
            self._names[symbol] = next(one for one in choices if one not in taken)
        return self._names[symbol]


def _count(items: list) -> int:
    return sum(1 if isinstance(one, Access) else 1 + _count(one.items) for one in items)


def _depth_of(items: list) -> int:
    return max((1 + _depth_of(one.items) for one in items if isinstance(one, Loop)), default=0)
