# SPDX-License-Identifier: Apache-2.0
"""Numbers are short and precise, and have their unit."""

import pytest

from forebay.report import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1, "1.00"),
        (0.7249, "0.725"),
        (0.99999, "1.00"),
        (12.34, "12.3"),
        (123.4, "123"),
        (12345.6, "12346"),
        (-0.5, "-0.500"),
        (0.0123, "0.0123"),
        (0.00002, "2e-5"),
        (-3.21e-9, "-3.21e-9"),
        (0.001, "0.00100"),
        (float("inf"), "inf"),
    ],
)
def test_numbers_have_three_digits(value, text):
    assert units.number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.50 KiB"),
        (4096, "4 KiB"),
        (1 << 30, "1 GiB"),
        ((1 << 30) - 40, "1.00 GiB"),
        (5 << 60, "5120 PiB"),
    ],
)
def test_sizes_are_powers_of_1024(value, text):
    assert units.size(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"),
        (1.5, "1.50 s"),
        (0.0125, "12.5 ms"),
        (4.2e-5, "42.0 µs"),
        (1.4e-8, "14.0 ns"),
        (5e-10, "0.500 ns"),
    ],
)
def test_durations_have_a_suitable_unit(value, text):
    assert units.duration(value) == text


def test_rates_are_powers_of_1000():
    assert units.rate(1.5e9) == "1.50 GB/s"
    assert units.rate(12) == "12.0 B/s"


def test_quantities_print_the_unit_of_a_benchmark():
    assert units.quantity(0.62, "1") == "0.620"
    assert units.quantity(0.04, "us") == "0.0400 µs"
    assert units.quantity(71.2, "MiB") == "71.2 MiB"
    assert units.quantity(0.25, "s") == "250 ms"


def test_a_range_has_its_unit_once_unless_the_ends_differ():
    assert units.quantity_range(1, 2, "us") == "1.00 … 2.00 µs"
    assert units.quantity_range(0.5, 2, "s") == "500 ms … 2.00 s"
    assert units.quantity_range(0.5, 0.7, "1") == "0.500 … 0.700"
