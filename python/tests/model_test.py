# SPDX-License-Identifier: Apache-2.0
"""`forebay model`: what forebay-model says as tables and pictures, and the real one where it is
built."""

import re
from pathlib import Path

import pytest

from forebay.cli.model import gain_words
from forebay.report.gain_plot import groups_of, label_of
from forebay.report.gain_tables import advice_of

GUIDE = Path(__file__).resolve().parent.parent.parent / "docs" / "guides" / "gain.md"


def spread(mean, low=None, high=None):
    return {"mean": mean, "low": low or mean, "high": high or mean}


def answer(buffers, total_s, gain):
    return {
        "buffers": buffers,
        "synchronous_s": spread(30),
        "total_s": total_s,
        "computing_s": spread(10),
        "waiting_s": spread(9.98),
        "draining_s": spread(0.03),
        "gain": gain,
    }


ASKED = answer(2, spread(20.01, 19, 21), spread(1.5, 1.4, 1.6))
DOCUMENT = {
    "compute_s": 0.01,
    "write_s": 0.02,
    "count": 1000,
    "buffers": 2,
    "devices": 1,
    "jitter": {"write": 0.3, "compute": 0, "distribution": "lognormal", "seed": 1, "runs": 200},
    "bound": 1.5,
    "asked": ASKED,
    "by_buffers": [answer(1, spread(30), spread(1)), ASKED, answer(None, spread(20), spread(1.5))],
    "best": {
        "buffers": 2,
        "gain": spread(1.5),
        "devices": 2,
        "devices_buffers": 3,
        "devices_gain": spread(2.99),
    },
}
QUESTION = ("model", "gain", "--compute", "10ms", "--write", "20ms")


def best_of(**changes):
    return {**DOCUMENT, "best": {**DOCUMENT["best"], **changes}}


def test_gain_tells_times_gain_and_where_the_time_goes(forebay, answers):
    answers("forebay-model", DOCUMENT)
    ran = forebay(*QUESTION)
    assert ran.code == 0
    for text in (
        "1,000 buffers, each computed in 10.0 ms and written in 20.0 ms",
        "20.0 s (19.0 s … 21.0 s) with 2 buffers and 1 device",
        "1.50 (1.40 … 1.60); the bound is 1.50",
        "9.98 s, 49.9 % of the time",
        "unlimited",
        "Writing takes 2.00 times as long as computing.",
        "write times vary by 30 %",
        "200 runs of seed 1",
    ):
        assert text in ran.out


def test_advice_says_what_more_would_bring():
    limit, buffers, devices = advice_of(DOCUMENT)
    assert limit == "Writing takes 2.00 times as long as computing."
    assert buffers == "Best: 2 buffers, as asked; more bring less than 1 %."
    assert devices == "With 2 devices: gain 2.99 with 3 buffers; more devices bring less than 1 %."


def test_advice_names_too_few_and_too_many_buffers():
    assert (
        "Best: 4 buffers, gain 1.50 instead of 1.50 (1.40 … 1.60)"
        in advice_of(best_of(buffers=4))[1]
    )
    unlimited = {**DOCUMENT, "asked": {**ASKED, "buffers": None}}
    assert "fewer than asked" in advice_of(unlimited)[1]


def test_advice_names_devices_that_do_not_help():
    assert advice_of(best_of(devices=1))[2] == "More devices bring less than 1 %."
    several = {**best_of(devices=2), "devices": 4}
    assert "and 2 devices would do: gain 2.99 with 3 buffers" in advice_of(several)[2]


@pytest.mark.parametrize(
    ("compute_s", "write_s", "text"),
    [
        (0, 1, "nothing to overlap"),
        (1, 0, "nothing to overlap"),
        (1, 1, "equally long"),
        (5, 1, "Computing takes 5.00 times as long as writing"),
    ],
)
def test_advice_begins_with_what_limits(compute_s, write_s, text):
    assert text in advice_of({**DOCUMENT, "compute_s": compute_s, "write_s": write_s})[0]


def test_the_question_goes_to_the_native_program_in_seconds(forebay, fake):
    document = f"{DOCUMENT!r} | {{'words': sys.argv[1:]}}"
    fake("forebay-model", f"print(json.dumps({document}))")
    words = ("--buffers", "unlimited", "--devices", "3", "--jitter", "0.5", "--json", "-")
    said = forebay(*QUESTION, *words).json["words"]
    assert said[:5] == ["gain", "--compute-s", "0.01", "--write-s", "0.02"]
    assert dict(zip(said[5::2], said[6::2], strict=True)) == {
        "--buffers": "unlimited",
        "--devices": "3",
        "--count": "1000",
        "--jitter": "0.5",
        "--compute-jitter": "0.0",
        "--seed": "1",
    }


def test_curves_are_asked_for_only_for_a_picture():
    question = dict.fromkeys(("compute", "write"), 1.0) | dict.fromkeys(
        ("buffers", "devices", "count", "jitter", "compute_jitter", "seed"), 1
    )
    assert "--curves" not in gain_words(question, with_curves=False)
    assert gain_words(question, with_curves=True)[-1] == "--curves"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--compute", "10"),
        ("--write", "soon"),
        ("--buffers", "0"),
        ("--buffers", "many"),
        ("--buffers", "²"),
        ("--devices", "0"),
        ("--count", "0"),
        ("--jitter", "-1"),
        ("--jitter", "nan"),
        ("--compute-jitter", "4"),
        ("--seed", "-1"),
        ("--plot", "gain.txt"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(forebay, answers, option, value):
    answers("forebay-model", DOCUMENT)
    ran = forebay(*QUESTION, option, value)
    assert ran.code == 2
    assert option in ran.err or value in ran.err


def curve(buffers, *gains):
    points = [{"ratio": 10.0**at, "gain": spread(gain)} for at, gain in enumerate(gains)]
    return {"buffers": buffers, "points": points}


def test_curves_that_look_alike_are_one_line_of_the_picture():
    curves = [curve(1, 1, 1), curve(2, 1.5, 2), curve(4, 1.501, 2), curve(None, 1.5, 2.1)]
    assert [label_of(group) for group in groups_of(curves)] == [
        "1 buffer",
        "2 or 4 buffers",
        "unlimited buffers",
    ]


def test_a_picture_is_drawn_of_the_curves(forebay, answers, tmp_path):
    curves = [curve(1, 1, 1), curve(2, 1.2, 1.5), curve(None, 1.5, 1.9)]
    answers("forebay-model", {**DOCUMENT, "curves": curves})
    file = tmp_path / "gain.svg"
    assert forebay(*QUESTION, "--plot", file).code == 0
    text = file.read_text()
    for words in ("What overlap brings on one device", "unlimited buffers", "1000 buffers"):
        assert words in text.replace("1,000", "1000")


def test_the_real_program_agrees_with_the_guide(forebay, real_native):
    real_native("forebay-model")
    document = forebay(*QUESTION, "--json", "-").json
    assert document["asked"]["total_s"]["mean"] == pytest.approx(20.01)
    assert document["best"]["devices_buffers"] == 3
    told = set(re.findall(r"`(\w+)`", GUIDE.read_text().partition("## As JSON")[2]))
    assert set(document) <= told
    assert set(document["asked"]) <= told
    assert set(document["best"]) <= told


def rows_of_jitter():
    """Of the guide: C, W, jitter, gains with 2, 3, 4, 8 and unlimited buffers, the best number."""
    rows = re.findall(r"^\| (\d+ms) \| (\d+ms) \| (.*) \|$", GUIDE.read_text(), re.MULTILINE)
    return [(compute, write, *rest.split(" | ")) for compute, write, rest in rows]


@pytest.mark.parametrize("row", rows_of_jitter(), ids=" ".join)
def test_the_real_program_finds_the_gains_with_jitter_of_the_guide(forebay, real_native, row):
    real_native("forebay-model")
    compute, write, jitter, *gains, best = row
    question = ("model", "gain", "--compute", compute, "--write", write, "--jitter", jitter)
    document = forebay(*question, "--json", "-").json
    played = {row["buffers"]: row["gain"]["mean"] for row in document["by_buffers"]}
    told = dict(zip((2, 3, 4, 8, None), map(float, gains), strict=True))
    assert {buffers: played[buffers] for buffers in told} == pytest.approx(told, abs=0.0051)
    assert document["best"]["buffers"] == int(best)


def test_the_guide_has_rows_with_jitter():
    assert len(rows_of_jitter()) == 6


def test_the_real_program_draws_a_picture_of_every_kind(forebay, real_native, tmp_path):
    real_native("forebay-model")
    for number, words in enumerate(
        (
            ("10ms", "20ms", "--devices", "3", "--buffers", "3"),
            ("10ms", "10ms", "--jitter", "0.4", "--count", "50"),
            ("0", "1s"),
            ("1s", "0", "--buffers", "unlimited"),
            ("1h", "1ns"),
        )
    ):
        compute, write, *others = words
        file = tmp_path / f"{number}.png"
        question = ("model", "gain", "--compute", compute, "--write", write, *others)
        ran = forebay(*question, "--plot", file)
        assert ran.code == 0, ran.err
        assert f"picture: {file}" in ran.out
        assert file.read_bytes().startswith(b"\x89PNG")


def test_the_real_program_refuses_what_it_cannot_play(forebay, real_native):
    real_native("forebay-model")
    ran = forebay(*QUESTION, "--jitter", "1", "--count", "1000000")
    assert ran.code == 1
    assert "give 1 to 100000" in ran.err
    ran = forebay("model", "gain", "--compute", "0", "--write", "0")
    assert ran.code == 1
    assert "neither computing nor writing takes time" in ran.err
