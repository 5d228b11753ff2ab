# SPDX-License-Identifier: Apache-2.0
"""Sizes in the usual notation, parsed as the native programs do (forebay::parse_size)."""

import re

from forebay.errors import EXIT_USAGE, ForebayError

SIZE = re.compile(r"\s*(\d+)\s*([kmgt]i?b|b)?\s*", re.IGNORECASE)
POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def parse_size(text: str, what: str) -> int:
    """Bytes from "4096", "64KiB", "64 MiB", "2GB"; `what` is the option that an error names."""
    match = SIZE.fullmatch(text)
    if match is None:
        raise ForebayError(f"{what}: {text!r} is not a size; write 4096 or 64MiB", EXIT_USAGE)
    unit = (match[2] or "").lower().removesuffix("b")
    base = 1024 if unit.endswith("i") else 1000
    return int(match[1]) * base ** POWERS[unit.removesuffix("i")]
