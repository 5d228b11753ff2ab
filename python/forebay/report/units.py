# SPDX-License-Identifier: Apache-2.0
"""Numbers in readable form: three digits and a unit.

With a spread of a few percent, further digits have no meaning.
"""

import math

BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
TIME_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
ROUNDS_TO_1024 = 1023.5
SMALLEST_WRITTEN_OUT = 1e-3
UNIT_TEXTS = {"us": "µs", "1": ""}


def number(value: float) -> str:
    """Three significant digits, without an exponent where that is readable: 1.23, 12345, 2e-5."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    digits, exponent = f"{value:.2e}".split("e")
    if abs(value) < SMALLEST_WRITTEN_OUT:
        return f"{digits.rstrip('0').rstrip('.')}e{int(exponent)}"
    return f"{value:.{max(0, 2 - int(exponent))}f}"


def limit(value: float) -> str:
    """A chosen number, as it was written: 0.75, 96."""
    return f"{value:.6g}"


def size(size_bytes: float) -> str:
    """Bytes in powers of 1024: 1536 is 1.50 KiB."""
    value, unit = float(size_bytes), BYTE_UNITS[0]
    for larger in BYTE_UNITS[1:]:
        if abs(value) < ROUNDS_TO_1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.0f} {unit}" if value == int(value) else f"{number(value)} {unit}"


def duration(seconds: float) -> str:
    """Seconds in a suitable unit: 0.0123 is 12.3 ms."""
    for factor, unit in TIME_UNITS:
        if abs(seconds) >= factor:
            return f"{number(seconds / factor)} {unit}"
    return "0 s" if seconds == 0 else f"{number(seconds / 1e-9)} ns"


def rate(bytes_per_s: float) -> str:
    """Bytes per second in powers of 1000, as disks are sold."""
    for factor, unit in ((1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")):
        if bytes_per_s >= factor:
            return f"{number(bytes_per_s / factor)} {unit}"
    return f"{number(bytes_per_s)} B/s"


def count(value: int) -> str:
    """A number with separators: 1234567 is 1,234,567."""
    return f"{value:,}"


def items(number_of: int, word: str) -> str:
    """A number of things: "1 file", "1,200 files"."""
    return f"{count(number_of)} {word}{'' if number_of == 1 else 's'}"


def quantity(value: float, unit: str) -> str:
    """A value with its unit of a benchmark. "1" is a ratio; "s" is scaled to a suitable unit."""
    if unit == "s":
        return duration(value)
    return with_unit(number(value), unit)


def with_unit(text: str, unit: str) -> str:
    """A formatted number with its unit as it is printed."""
    return f"{text} {UNIT_TEXTS.get(unit, unit)}".rstrip()


def quantity_range(low: float, high: float, unit: str) -> str:
    """Both ends, with one unit if both have the same: 1.2 … 3.4 µs."""
    first, last = quantity(low, unit), quantity(high, unit)
    first_unit, last_unit = first.partition(" ")[2], last.partition(" ")[2]
    return f"{first.partition(' ')[0]} … {last}" if first_unit == last_unit else f"{first} … {last}"
