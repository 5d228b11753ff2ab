# SPDX-License-Identifier: Apache-2.0
"""Durations in the usual notation: 10ms, 1.5 s, 300us."""

import math
import re

from forebay.errors import EXIT_USAGE, ForebayError

DURATION = re.compile(r"\s*(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)\s*(ns|us|µs|ms|s|min|h)?\s*")
SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


def parse_duration(text: str, what: str) -> float:
    """Seconds from "10ms", "1.5 s", "0"; `what` is the option that an error names."""
    match = DURATION.fullmatch(text)
    if match is None:
        raise ForebayError(f"{what}: {text!r} is not a duration; write 10ms or 1.5s", EXIT_USAGE)
    number, unit = match.groups()
    if unit is None and float(number) != 0:
        raise ForebayError(f"{what}: {text!r} has no unit; write {text}ms or {text}s", EXIT_USAGE)
    seconds = float(number) * SECONDS[unit or "s"]
    if not math.isfinite(seconds):
        raise ForebayError(f"{what}: {text!r} is too long", EXIT_USAGE)
    return seconds
