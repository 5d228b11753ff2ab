# SPDX-License-Identifier: Apache-2.0
"""Signatures in the notation of the server-push slides, which state no grammar. The interpretation
is that of docs/formats/signature.md#the-notation-of-the-seed."""

import re

from forebay.errors import EXIT_USAGE, ForebayError

NUMBER_MAX = 2**63 - 1
N = r"(-?\d+)"
BEGIN = r"\{(-?\d+|INIT),"
RUN = rf"(?:\[{N},{N},{N}\]|\{{-,1,\({N},{N}\)\}})"
ANY_RUN = RUN.replace("(-", "(?:-")
SIMPLE = re.compile(rf"{BEGIN}1,\({N},{N},{N}\)(?:,?{N})?\}}")
STRIDES = re.compile(rf"{BEGIN}{N},\(({ANY_RUN}(?:,{ANY_RUN})*)(?:\),{N}|,{N}\))\}}")
SLAB = rf"\{{{N},1,\({N},1\)\}},"
LU = re.compile(
    rf"{BEGIN}3,\({SLAB}{SLAB}\{{{N},1,\(\{{{N},\({N}\)\}},\{{{N},\({N}\)\}}\)(?:\}}\))?,{N}\}}"
)
Terms = tuple[int, ...]  # a constant, and factors of the loop variables i and j


def signature_of_seed(text: str, offset: int = 0, size: int = 1024) -> str:
    """The signature. INIT is `offset`; `size` is that of elements that state none."""
    words = re.sub(r"(?<!\d)\s+|\s+(?!\d)", "", text)
    for form, convert in ((SIMPLE, _simple), (STRIDES, _strides), (LU, _factorization)):
        if found := form.fullmatch(words):
            begin, *numbers = found.groups()
            return convert(offset if begin == "INIT" else int(begin), numbers, size)
    raise _error(f"{text}: expected one of the forms in docs/formats/signature.md")


def _error(message: str) -> ForebayError:
    return ForebayError(message, EXIT_USAGE)


def _simple(begin: int, numbers: list, _) -> str:
    stride, size, repetitions, times = (int(one or 1) for one in numbers)
    if times == 1:
        return _loop(repetitions + 1, (None, (begin, stride), (size,)))
    return _loop(times, ((repetitions + 1,), (begin, 0, stride), (size,)))


def _strides(begin: int, numbers: list, default_size: int) -> str:
    dimension, elements, *repetitions = numbers
    runs = []  # stride, size, accesses
    for a, size, accesses, b, continued in re.findall(RUN, elements):
        runs.append((int(a or b), int(size or default_size), int(accesses or continued)))
    if len(runs) != int(dimension):
        raise _error(f"expected {dimension} elements, found {len(runs)}")
    period = sum(stride * accesses for stride, _, accesses in runs)
    if len(runs) == 2 and runs[0][1] == runs[1][1] and runs[1][2] == 1:
        runs = [(*runs[0][:2], runs[0][2] + 1)]
    items = []
    for stride, size, accesses in runs:
        items.append(((accesses,), (begin, period, stride), (size,)))
        begin += stride * accesses
    return _loop(int(repetitions[0] or repetitions[1]) + 1, *items)


def _factorization(begin: int, numbers: list, _) -> str:
    """Each repetition reads the next slab, then all slabs before it, each shorter."""
    slab, slab_size, first, first_size, second, size, change, count, growth, repetitions = (
        int(one) for one in numbers
    )
    if first_size + change != size:
        raise _error(f"expected {first_size + change} as the third size, found {size}")
    before = (begin + first, 0, second - first), (first_size, 0, change)
    after = None, (begin + slab, slab_size), (slab_size,)
    return _loop(repetitions + 1, after, ((count + 1, growth), *before))


def _loop(repetitions: int, *items: tuple[Terms | None, Terms, Terms]) -> str:
    """A loop around items: count of an inner loop or None, offset, size. Checks the limits in the
    first and last repetitions, where the numbers are extreme."""
    texts = []
    for count, offset, size in items:
        for i in (0, repetitions - 1):
            inner = _at(count or (1,), i, 0)
            for j in (0, inner - 1):
                start, size_bytes = _at(offset, i, j), _at(size, i, j)
                if min(start, size_bytes, repetitions - 1, inner - 1) < 0:
                    raise _error(f"a number is negative at i = {i}, j = {j}")
                if max(start + size_bytes, repetitions * inner) > NUMBER_MAX:
                    raise _error(f"a number exceeds 2^63 - 1 at i = {i}, j = {j}")
        access = f"({_text(offset)}, {_text(size)})"
        texts.append(access if count is None else f"{{{_text(count)} x {access}}}")
    return f"read {{{repetitions} x {', '.join(texts)}}}"


def _at(terms: Terms, i: int, j: int) -> int:
    return sum(a * b for a, b in zip(terms, (1, i, j), strict=False))


def _text(terms: Terms) -> str:
    text = ""
    for factor, variable in zip(terms, ("", "i", "j"), strict=False):
        if factor:
            number = str(abs(factor)) if not variable or abs(factor) != 1 else ""
            sign = (" - " if factor < 0 else " + ") if text else "-" * (factor < 0)
            text += sign + f"{number} {variable}".strip()
    return text or "0"
