# SPDX-License-Identifier: Apache-2.0
"""Each signature string of the slides about the File Access Server, and bad input."""

import re
from pathlib import Path

import pytest

from forebay.errors import ForebayError
from forebay.seed_signature import signature_of_seed

PAGE = Path(__file__).parents[2] / "docs/formats/signature.md"
SLABS = "{0, 3, ({1049088, 1, (524544, 1)}, {0, 1, (522368, 1)}, "
LU = SLABS + "{524544, 1, ({518272, (-4096)}, {1, (1)}"
LU_SIGNATURE = "read {126 x (1049088 + 524544 i, 524544), {2 + i x (524544 j, 522368 - 4096 j)}}"
SLIDES = [
    # the prediction state
    ("{1024, 1, (4096, 1024, 99), 1}", "read {100 x (1024 + 4096 i, 1024)}"),
    ("{2048, 1, (8192, 2048, 99) 1}", "read {100 x (2048 + 8192 i, 2048)}"),
    ("{4096, 1, (16384, 4096, 99),1}", "read {100 x (4096 + 16384 i, 4096)}"),
    ("{8192, 1, (32768, 8192, 99),1}", "read {100 x (8192 + 32768 i, 8192)}"),
    (
        "{4096, 2, ([2048, 1024, 1], [6144, 1024, 1]), 99}",
        "read {100 x {2 x (4096 + 8192 i + 2048 j, 1024)}}",
    ),
    (
        "{8192, 2, ([4096, 2048, 1], [12288, 2048,1], 99)}",
        "read {100 x {2 x (8192 + 16384 i + 4096 j, 2048)}}",
    ),
    # the table
    ("{INIT, 1, (4096, 1024, 199)}", "read {200 x (4096 i, 1024)}"),
    ("{INIT, 1, (8192, 1024, 199)}", "read {200 x (8192 i, 1024)}"),
    ("{INIT, 1, (16384, 1024, 199)}", "read {200 x (16384 i, 1024)}"),
    ("{INIT, 1, (32768, 1024, 199)}", "read {200 x (32768 i, 1024)}"),
    (
        "{INIT, 2, ({-, 1, (4096, 1)}, {-, 1, (12288, 1)}, 99)}",
        "read {100 x {2 x (16384 i + 4096 j, 1024)}}",
    ),
    (
        "{INIT, 2, ({-, 1, (16384, 1)}, {-, 1, (49152, 1)}, 99)}",
        "read {100 x {2 x (65536 i + 16384 j, 1024)}}",
    ),
    (
        "{INIT, 2, ({-, 1, (65536, 1)}, {-, 1, (196608, 1)}, 99)}",
        "read {100 x {2 x (262144 i + 65536 j, 1024)}}",
    ),
    (LU + "), 125}", LU_SIGNATURE),
    (LU + ")}), 125}", LU_SIGNATURE),
    ("{INIT, 1, (42450944, 5308416, 39)}", "read {40 x (42450944 i, 5308416)}"),
]


@pytest.mark.parametrize(("text", "signature"), SLIDES)
def test_string_of_the_slides_is_converted(text, signature):
    assert signature_of_seed(text) == signature
    assert signature_of_seed(text.replace(" ", "\n ")) == signature


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("{0, 1, (10, 4, 2), 7}", "read {7 x {3 x (10 j, 4)}}"),
        (
            "{5, 2, ([10, 1, 2], [30, 2, 1]), 9}",
            "read {10 x {2 x (5 + 50 i + 10 j, 1)}, {1 x (25 + 50 i + 30 j, 2)}}",
        ),
        ("{5, 2, ([10, 1, 2], [30, 1, 1]), 9}", "read {10 x {3 x (5 + 50 i + 10 j, 1)}}"),
        ("{50, 1, (-10, 4, 5)}", "read {6 x (50 - 10 i, 4)}"),
    ],
)
def test_repeated_and_unequal_patterns_are_converted(text, signature):
    assert signature_of_seed(text) == signature


def test_parameters_replace_what_is_not_stated():
    nested = "{INIT, 2, ({-, 1, (4096, 1)}, {-, 1, (12288, 1)}, 99)}"
    assert signature_of_seed(nested, 512, 2048) == (
        "read {100 x {2 x (512 + 16384 i + 4096 j, 2048)}}"
    )
    assert signature_of_seed("{INIT, 1, (4096, 1024, 199)}", 512, 2048) == (
        "read {200 x (512 + 4096 i, 1024)}"
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{OUT, 1, (1, 1, 1)}",
        "{0, 1, (1, 1, 1)",
        "{0, 1, (1, 1, 1)} {",
        "{1 0, 1, (1, 1, 1)}",
        "{0, 2, ([1, 1, 1]), 9}",
        "{0, 2, ([1, 1, 1], [1, 1, 1], 9}",
        "{0, 0, ([1, 1, 1]), 9}",
        "{0, 1, (1, 1, 9223372036854775807)}",
        "{0, 2, ([0, 1, 9223372036854775807], [0, 1, 1]), 0}",
        "{0, 1, (1, 1, 1), 0}",
        "{0, 2, ([4611686018427387904, 1, 2], [1, 1, 1]), 9}",
        "{0, 2, ([1, 1, 1], {5, 1, (1, 1)}), 9}",
        "{0, 1, ({5, 1, (1, 1)}), 9}",
        "{0, 1, (-10, 4, 5)}",
        "{9223372036854775808, 1, (1, 1, 1)}",
        LU.replace("518272", "518273") + "), 125}",
        LU + "), 999}",
    ],
)
def test_bad_text_is_refused(text):
    with pytest.raises(ForebayError):
        signature_of_seed(text)


def test_page_has_the_converted_signatures():
    rows = re.findall(r"^\| `(\{.*?\})` .*\| `(read .*)` \|$", PAGE.read_text(), re.MULTILINE)
    assert len(rows) >= 2
    assert all(signature_of_seed(text) == signature for text, signature in rows)


def test_command_converts_a_text_of_the_slides(forebay):
    completed = forebay("trace", "signature", "--seed", "{INIT, 1, (4096, 1024, 199)}")
    assert completed.out == "read {200 x (4096 i, 1024)}\n"
    assert forebay("trace", "signature", "--seed", "{x}").code == 2
