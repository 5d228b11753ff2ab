# SPDX-License-Identifier: Apache-2.0
"""`forebay bench tune`: its definition of evaluations, its machines and its rows."""

import json
import math

import numpy as np
import pytest

from forebay.benchmarks import synthetic_machines, tuning


@pytest.mark.parametrize(
    ("regrets", "expected"),
    [
        ([1.0, 1.0], 1),
        ([1.5, 1.1, 1.0], 2),
        ([1.0, 1.2, 1.05, 1.0], 3),
        ([1.0, 1.2], math.inf),
    ],
)
def test_evaluations_end_where_the_recommendation_stays(regrets, expected):
    assert tuning.evaluations(regrets) == expected


def test_synthetic_machines_are_hard_and_inexact_models_have_other_constants():
    for machine in synthetic_machines.MACHINES:
        times = [machine.seconds(plan) for plan in synthetic_machines.space().plans]
        share = np.mean(np.array(times) <= 1.1 * min(times))
        assert 0 < share < 0.02
        inexact = machine.with_inexact_constants(np.random.default_rng(1))
        pairs = zip(vars(machine.constants).values(), vars(inexact.constants).values(), strict=True)
        assert all(one != other for one, other in pairs)


@pytest.mark.long
def test_benchmark_has_every_row_and_its_peers(forebay, monkeypatch, fake_program, tmp_path):
    monkeypatch.setattr(tuning, "SEEDS", {"quick": 1})
    monkeypatch.setattr(tuning, "RUNS", {True: 6, False: 6})
    fake_program("forebay-bench", {"cpu_model": "fake"})
    options = ("--quick", "--only", "tune.synthetic.model,tune.synthetic.model.hits")
    document = forebay("bench", "tune", *options, "--dir", tmp_path, "--json", "-").json
    assert [one["id"] for one in document["results"]] == options[2].split(",")
    assert {"exact constants", "of another form"} <= set(document["results"][0]["peers"])
    assert json.dumps(document["parameters"]["truth"])
