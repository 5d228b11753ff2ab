# SPDX-License-Identifier: Apache-2.0
"""Durations are parsed with their unit, and refused without one."""

import pytest

from forebay.durations import parse_duration
from forebay.errors import ForebayError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10ms", 0.01),
        ("1.5 s", 1.5),
        (" 300us ", 3e-4),
        ("300µs", 3e-4),
        ("7ns", 7e-9),
        (".5s", 0.5),
        ("2.s", 2),
        ("1e-3s", 1e-3),
        ("2min", 120),
        ("1h", 3600),
        ("0", 0),
    ],
)
def test_durations_have_a_unit(text, seconds):
    assert parse_duration(text, "--x") == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize("text", ["10", "", "ms", "-1s", "1 d", "1s1s", "nan", "inf s", "1e999s"])
def test_invalid_duration_is_an_error_with_the_option(text):
    with pytest.raises(ForebayError, match=r"^--x: "):
        parse_duration(text, "--x")
