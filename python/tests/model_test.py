# SPDX-License-Identifier: Apache-2.0
"""`forebay model`: results of the native tools as tables and plots, and the real ones if they are
built."""

import re
from pathlib import Path

import pytest

from forebay.report.gain_plot import group_equal_curves, label_of
from forebay.report.gain_tables import advice_of

GUIDE = Path(__file__).resolve().parent.parent.parent / "docs" / "guides" / "gain.md"


def spread(mean, low=None, high=None):
    return {"mean": mean, "low": low or mean, "high": high or mean}


def result(buffers, total_s, gain):
    return {
        "buffers": buffers,
        "synchronous_s": spread(30),
        "total_s": total_s,
        "computing_s": spread(10),
        "waiting_s": spread(9.98),
        "draining_s": spread(0.03),
        "gain": gain,
    }


REQUESTED = result(2, spread(20.01, 19, 21), spread(1.5, 1.4, 1.6))
DOCUMENT = {
    "compute_s": 0.01,
    "write_s": 0.02,
    "count": 1000,
    "buffers": 2,
    "devices": 1,
    "jitter": {"write": 0.3, "compute": 0, "distribution": "lognormal", "seed": 1, "runs": 200},
    "bound": 1.5,
    "requested": REQUESTED,
    "by_buffers": [
        result(1, spread(30), spread(1)),
        REQUESTED,
        result(None, spread(20), spread(1.5)),
    ],
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


def test_gain_prints_times_gain_and_shares(forebay, fake_tools):
    fake_tools(compute_gain=DOCUMENT)
    completed = forebay(*QUESTION)
    assert completed.code == 0
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
        assert text in completed.out


def test_advice_has_gain_of_more_buffers_and_devices():
    limit, buffers, devices = advice_of(DOCUMENT)
    assert limit == "Writing takes 2.00 times as long as computing."
    assert buffers == "Best: 2 buffers, as requested; more gain less than 1 %."
    assert devices == "With 2 devices: gain 2.99 with 3 buffers; more devices gain less than 1 %."


def test_advice_names_too_few_and_too_many_buffers():
    assert (
        "Best: 4 buffers, gain 1.50 instead of 1.50 (1.40 … 1.60)"
        in advice_of(best_of(buffers=4))[1]
    )
    unlimited = {**DOCUMENT, "requested": {**REQUESTED, "buffers": None}}
    assert "fewer than requested" in advice_of(unlimited)[1]


def test_advice_reports_devices_without_gain():
    assert advice_of(best_of(devices=1))[2] == "More devices gain less than 1 %."
    several = {**best_of(devices=2), "devices": 4}
    assert "and 2 devices would suffice: gain 2.99 with 3 buffers" in advice_of(several)[2]


@pytest.mark.parametrize(
    ("compute_s", "write_s", "text"),
    [
        (0, 1, "nothing to overlap"),
        (1, 0, "nothing to overlap"),
        (1, 1, "equally long"),
        (5, 1, "Computing takes 5.00 times as long as writing"),
    ],
)
def test_advice_begins_with_the_limit(compute_s, write_s, text):
    assert text in advice_of({**DOCUMENT, "compute_s": compute_s, "write_s": write_s})[0]


def test_native_tool_receives_times_in_seconds(forebay, fake_tools, tmp_path):
    asked = []
    document = DOCUMENT | {"curves": [curve(1, 1, 1)]}
    fake_tools(compute_gain=lambda **options: asked.append(options) or document)
    forebay(*QUESTION, "--buffers", "unlimited", "--devices", "3", "--jitter", "0.5")
    forebay(*QUESTION, "--plot", tmp_path / "gain.png")
    assert callable(asked[0].pop("progress"))
    assert asked[0] == {
        "compute_s": 0.01,
        "write_s": 0.02,
        "buffers": None,
        "devices": 3,
        "count": 1000,
        "jitter": 0.5,
        "compute_jitter": 0,
        "seed": 1,
        "curves": False,
    }
    assert (asked[1]["buffers"], asked[1]["curves"]) == (2, True)


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
def test_invalid_value_is_wrong_usage(forebay, fake_tools, option, value):
    fake_tools(compute_gain=DOCUMENT)
    completed = forebay(*QUESTION, option, value)
    assert completed.code == 2
    assert option in completed.err or value in completed.err


def curve(buffers, *gains):
    points = [{"ratio": 10.0**at, "gain": spread(gain)} for at, gain in enumerate(gains)]
    return {"buffers": buffers, "points": points}


def test_similar_curves_are_one_line_of_the_plot():
    curves = [curve(1, 1, 1), curve(2, 1.5, 2), curve(4, 1.501, 2), curve(None, 1.5, 2.1)]
    assert [label_of(group) for group in group_equal_curves(curves)] == [
        "1 buffer",
        "2 or 4 buffers",
        "unlimited buffers",
    ]


def test_curves_are_plotted(forebay, fake_tools, tmp_path):
    curves = [curve(1, 1, 1), curve(2, 1.2, 1.5), curve(None, 1.5, 1.9)]
    fake_tools(compute_gain={**DOCUMENT, "curves": curves})
    file = tmp_path / "gain.svg"
    assert forebay(*QUESTION, "--plot", file).code == 0
    text = file.read_text()
    for args in ("Gain of overlap on one device", "unlimited buffers", "1000 buffers"):
        assert args in text.replace("1,000", "1000")


def test_the_real_program_agrees_with_the_guide(forebay, real_tools):
    document = forebay(*QUESTION, "--json", "-").json
    assert document["requested"]["total_s"]["mean"] == pytest.approx(20.01)
    assert document["best"]["devices_buffers"] == 3
    documented_keys = set(re.findall(r"`(\w+)`", GUIDE.read_text().partition("## As JSON")[2]))
    assert set(document) <= documented_keys
    assert set(document["requested"]) <= documented_keys
    assert set(document["best"]) <= documented_keys


def rows_of_jitter():
    """Rows of the guide: C, W, jitter, gains with 2, 3, 4, 8 and unlimited buffers, best number."""
    rows = re.findall(r"^\| (\d+ms) \| (\d+ms) \| (.*) \|$", GUIDE.read_text(), re.MULTILINE)
    return [(compute, write, *rest.split(" | ")) for compute, write, rest in rows]


@pytest.mark.parametrize("row", rows_of_jitter(), ids=" ".join)
def test_the_real_program_finds_the_gains_with_jitter_of_the_guide(forebay, real_tools, row):
    compute, write, jitter, *gains, best = row
    question = ("model", "gain", "--compute", compute, "--write", write, "--jitter", jitter)
    document = forebay(*question, "--json", "-").json
    simulated = {row["buffers"]: row["gain"]["mean"] for row in document["by_buffers"]}
    documented_keys = dict(zip((2, 3, 4, 8, None), map(float, gains), strict=True))
    assert {buffers: simulated[buffers] for buffers in documented_keys} == pytest.approx(
        documented_keys, abs=0.0051
    )
    assert document["best"]["buffers"] == int(best)


def test_the_guide_has_rows_with_jitter():
    assert len(rows_of_jitter()) == 6


def test_real_program_plots_every_case(forebay, real_tools, tmp_path):
    for number, args in enumerate(
        (
            ("10ms", "20ms", "--devices", "3", "--buffers", "3"),
            ("10ms", "10ms", "--jitter", "0.4", "--count", "50"),
            ("0", "1s"),
            ("1s", "0", "--buffers", "unlimited"),
            ("1h", "1ns"),
        )
    ):
        compute, write, *others = args
        file = tmp_path / f"{number}.png"
        question = ("model", "gain", "--compute", compute, "--write", write, *others)
        completed = forebay(*question, "--plot", file)
        assert completed.code == 0, completed.err
        assert f"picture: {file}" in completed.out
        assert file.read_bytes().startswith(b"\x89PNG")


def test_real_program_refuses_invalid_simulations(forebay, real_tools):
    completed = forebay(*QUESTION, "--jitter", "1", "--count", "1000000")
    assert completed.code == 1
    assert "give 1 to 100000" in completed.err
    completed = forebay("model", "gain", "--compute", "0", "--write", "0")
    assert completed.code == 1
    assert "neither computing nor writing takes time" in completed.err
