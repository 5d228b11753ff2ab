# SPDX-License-Identifier: Apache-2.0
"""`forebay study irregular` and `qmcpack`: statements from made points, and the real simulation."""

from itertools import product

import pytest

from forebay import irregular_study
from forebay.irregular_study import FAMILIES, MACHINES, SIZES, STRATEGIES, TARGETS, Point

TITAN = {"bandwidth": 80e9, "nodes": 18688}
needs_study = pytest.mark.usefixtures("real_tools")


def made_points(time_of) -> list[dict]:
    """Points whose time is time_of(point); creation ahead saves the open phase of 1 s."""
    points = []
    grid = product(MACHINES, SIZES, FAMILIES, STRATEGIES, (1, 8), TARGETS, (False, True))
    for machine, size, family, strategy, aggregators, targets, is_ahead in grid:
        opened = 0.0 if is_ahead else 1.0
        keys = {"machine": machine, "size": size, "family": family, "strategy": strategy}
        keys |= {"aggregators": aggregators, "targets": targets, "is_ahead": is_ahead}
        memory = {"memory_bytes": 16, "peer_memory_bytes": 160 if strategy == "gather" else 16}
        point = Point(**keys, opened_s=opened, durable_s=10 + opened, **memory)
        points.append(vars(point) | {"durable_s": time_of(point) + opened})
    return points


def answers(time_of) -> dict[str, dict]:
    document = {"points": made_points(time_of), "titan": TITAN}
    return {
        " ".join(one["statement"].split()[:2]): one for one in irregular_study.statements(document)
    }


def test_every_statement_has_a_number_and_a_verdict():
    found = answers(lambda point: 10.0)
    assert len(found) == 8
    for one in found.values():
        assert one["verdict"] in ("confirmed", "refuted")
        assert any(character.isdigit() for character in one["answer"])


def test_statements_about_settings_follow_the_times():
    same = answers(lambda point: 10.0)
    assert same["The I/O"]["verdict"] == "confirmed"
    assert same["The number"]["verdict"] == "refuted"
    assert same["Optimal parameters"]["verdict"] == "refuted"
    assert same["Irregular output"]["verdict"] == "refuted"

    def differing(point):
        preferred = 8 if point.family == "exponential" else 1
        return 10.0 * (1 if point.aggregators == preferred else 2)

    assert answers(differing)["Optimal parameters"]["verdict"] == "confirmed"

    def worse_when_large(point):
        return 20.0 if (point.family, point.size) == ("exponential", "large") else 10.0

    assert answers(worse_when_large)["Irregular output"]["verdict"] == "confirmed"

    def slow_brigade(point):
        return 30.0 if point.strategy == "brigade" else 10.0

    assert answers(slow_brigade)["All-gather and"]["verdict"] == "refuted"


def test_losses_are_relative_to_the_own_best_setting():
    points = [
        Point(**one)
        for one in made_points(lambda p: 8.0 if p.aggregators == 1 or p.family == "normal" else 16)
        if not one["is_ahead"]
    ]
    losses = irregular_study.losses(points, MACHINES[0])
    assert losses["uniform, small"]["uniform, small"] == 0
    assert all(loss >= 0 for row in losses.values() for loss in row.values())


def test_overheads_are_those_of_the_slides():
    assert irregular_study.overhead(4096, 16e9) == pytest.approx(0.29)
    assert irregular_study.overhead(4096, 80e9) == pytest.approx(0.075, abs=0.002)
    assert irregular_study.full_scale(TITAN)["verdict"] == "confirmed"
    assert irregular_study.full_scale(TITAN | {"nodes": 2048})["verdict"] == "refuted"


@needs_study
def test_study_is_simulated_and_drawn(forebay, tmp_path):
    plot = tmp_path / "irregular.png"
    args = ("study", "irregular", "--quick", "--ranks", 4, "--json", "-", "--plot", plot)
    completed = forebay(*args)
    assert completed.code == 0, completed.err
    document = completed.json
    settings = len(STRATEGIES) * 3 * len(TARGETS) * 2  # 1, 2 and 4 aggregators
    assert len(document["points"]) == len(MACHINES) * len(SIZES) * len(FAMILIES) * settings
    assert len(document["statements"]) == 8
    assert document["titan"] == TITAN
    assert plot.stat().st_size > 10_000


@needs_study
def test_qmcpack_prints_each_number_of_writers(forebay):
    completed = forebay("study", "qmcpack", "--writers", 4096, "--writers", 37376)
    assert completed.code == 0
    assert "29.0%" in completed.out
    assert "7.6%" in completed.out
