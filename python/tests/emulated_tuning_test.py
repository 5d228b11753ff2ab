# SPDX-License-Identifier: Apache-2.0
"""Rows of `forebay bench tune` with real runs: kernels, comparison with the best strategy, and a
solver whose runs are replaced."""

import os

import pytest

from forebay.benchmarks import emulated_tuning
from forebay.benchmarks.rows import Results, Setup


def test_ten_kernels_have_different_names_and_write():
    kernels = list(emulated_tuning.auto_kernels())
    assert len({one.name for one in kernels}) == 10
    assert all(one.steps == emulated_tuning.AUTO_STEPS for one in kernels)
    assert all(any(op.do == "write" for op in one.operations) for one in kernels)


def test_default_is_compared_with_the_fastest_strategy_in_each_round():
    times = {"forebay": [2.0, 3.0], "forebay:baton": [1.0, 2.0], "forebay:gather": [4.0, 4.0]}
    best, found = emulated_tuning.over_best(times)
    assert best == "forebay:baton"
    assert found == [2.0, 1.5]


def test_variable_is_restored():
    with emulated_tuning.variable("FOREBAY_TUNING", "x"):
        assert os.environ["FOREBAY_TUNING"] == "x"
    assert "FOREBAY_TUNING" not in os.environ


@pytest.mark.parametrize("plan", [None, {"strategy": "gather", "writers": 2}])
def test_solver_gets_its_plan_or_is_tuned(tmp_path, monkeypatch, plan):
    bench = emulated_tuning.Bench(Results(set()), Setup(tmp_path, "quick", lambda _progress: None))
    seen = []

    def flow(*words):
        seen.append((words, os.environ.get("FOREBAY_TUNING")))
        return {"checkpoint_report": {"steps": [{"durable_s": 1.0}]}}

    monkeypatch.setattr(bench, "flow", flow)
    records = bench.checkpoints(tmp_path / "mesh.fb", tmp_path / "a.fb", plan, tmp_path / "p")
    assert emulated_tuning.seconds_of(records) == [1.0]
    words, profile = seen[0]
    assert profile == str(tmp_path / "p")
    assert ("--tune" in words) == (plan is None)
    if plan is not None:
        assert (tmp_path / "a.toml").read_text() == 'strategy = "gather"\nwriters = 2\n'


def test_a_round_has_the_value_of_its_worst_machine():
    details = [{"rounds": [{"x": 1}, {"x": 5}]}, {"rounds": [{"x": 3}, {"x": 2}]}]
    assert emulated_tuning.worst_of_rounds(details, lambda run: run["x"]) == [3, 5]
