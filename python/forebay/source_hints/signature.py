# SPDX-License-Identifier: Apache-2.0
"""The reads of a program as loops and accesses, and their text as a hint.

Numbers are polynomials of sympy. Each unknown in them is the application of an undefined function
to what it depends on. So a loop changes those unknowns that contain its variable, which is the
number of the repetition. `func.shown` is the name of an unknown.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

import sympy

VARIABLES = "ijklmnop"
RESERVED = {"x", "read", "write", "after"}
NAME_MAX = 64


class UnfitError(Exception):
    """Why reads are in no hint."""


@dataclass(eq=False)
class Item:
    """A read (`numbers`: offset and size) or a loop (count) of one file. If it has `why`, a gap:
    reads of the file in unknown order or, without file, a reason to skip the reads behind it."""

    line: int
    file: sympy.Expr | None
    numbers: tuple = ()
    variable: sympy.Expr | None = None
    items: tuple = ()
    why: str = ""


def walk(items) -> Iterator[Item]:
    for item in items:
        yield from (item, *walk(item.items))


def check_loop(items: list[Item], loop: sympy.Expr) -> None:
    """UnfitError: no signature describes the loop with this variable around the items."""
    for place, item in enumerate(items):
        if item.why and (item.file is not None or not all(one.why for one in items[place:])):
            raise UnfitError(item.why)
    inner = {one.variable for one in walk(items)}
    for _, product in _terms(items):
        powers = product.count(loop)
        if powers > 1 or (powers == 1 and inner.intersection(product)):
            raise UnfitError(f"an offset, size or count is not linear in {loop.func.shown}")
        for one in product:
            if one != loop and one.has(loop):
                what = f"{one.func.shown} changes with {loop.func.shown}"
                raise UnfitError(f"{what} by no known rule")


def text_of(items: list[Item]) -> dict:
    """`signature` and `parameters`. UnfitError: it exceeds a limit of hint files."""
    terms = list(_terms(items))
    loops = {one.variable for one in walk(items)}
    products = {tuple(one for one in product if one not in loops) for _, product in terms}
    depth = _depth_of(items)
    names: dict[sympy.Expr, str] = {}
    for one in itertools.chain.from_iterable(product for _, product in terms):
        if one not in loops and one not in names:
            names[one] = _name(one, {*names.values(), *RESERVED, *VARIABLES[:depth]})
    for number, limit, what in (
        (depth, len(VARIABLES), "loops inside each other"),
        (len(list(walk(items))), 64, "loops and reads"),
        (len(names), 16, "parameters"),
        (len(products - {()}), 24, "products of parameters"),
        (max(abs(factor) for factor, _ in terms), 2**63 - 1, "as a number"),
    ):
        if number > limit:
            raise UnfitError(f"it has more than {limit} {what}")
    symbols = {unknown: sympy.Symbol(name) for unknown, name in names.items()}
    return {"signature": f"read {_text(items, symbols)}", "parameters": list(names.values())}


def _terms(items) -> Iterator[tuple[int, list[sympy.Expr]]]:
    """The terms of all numbers: an integer, and the unknowns whose product is its factor."""
    for number in itertools.chain.from_iterable(one.numbers for one in walk(items)):
        for product, factor in sympy.expand(number).as_coefficients_dict().items():
            powers = product.as_powers_dict().items()
            yield int(factor), [base for base, power in powers if base != 1 for _ in range(power)]


def _depth_of(items) -> int:
    return max((1 + _depth_of(one.items) for one in items if one.items), default=0)


def _name(unknown: sympy.Expr, taken: set[str]) -> str:
    name = unknown.func.shown[: NAME_MAX - 4].lstrip("_")
    name = name if name[:1].isalpha() else f"value_{name}".rstrip("_")
    choices = itertools.chain([name], (f"{name}_{number}" for number in itertools.count(2)))
    return next(one for one in choices if one not in taken)


def _text(items, symbols: dict, depth: int = 0) -> str:
    parts = []
    for one in items:
        numbers = [_number(number.xreplace(symbols)) for number in one.numbers]
        variable = {one.variable: sympy.Symbol(VARIABLES[depth])} if one.items else {}
        inner = _text(one.items, symbols | variable, depth + 1)
        parts.append(f"{{{numbers[0]} x {inner}}}" if inner else f"({', '.join(numbers)})")
    return ", ".join(parts)


def _number(number: sympy.Expr) -> str:
    powers = re.sub(r"(\w+)\*\*(\d+)", lambda one: "*".join([one[1]] * int(one[2])), str(number))
    return powers.replace("*", " ")
