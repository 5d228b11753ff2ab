# SPDX-License-Identifier: Apache-2.0
"""`forebay plan`: candidates, the choice, and the real program if it is built."""

import tomllib

import pytest

from forebay import native, planning
from forebay.benchmarks import emulated_plans

needs_model = pytest.mark.skipif(not native.is_built("forebay-model"), reason="not built")


def test_candidates_begin_with_the_default_and_have_each_strategy():
    plans = planning.candidates(64, 4)
    assert plans[0] == {}
    strategies = {one.get("strategy") for one in plans}
    assert strategies >= {"serial", "file-per-process", "baton", "collective", "gather", "brigade"}
    assert all(one.get("files", 1) <= one.get("writers", 64) for one in plans)


def test_candidates_of_one_rank_are_valid():
    assert {one.get("writers", 1) for one in planning.candidates(1, 8)} == {1}


def test_counts_are_powers_and_the_given_numbers():
    assert planning.counts_to(20, 6, 99) == [1, 2, 4, 6, 8, 16, 20]


@needs_model
def test_plan_is_written_with_its_reason(forebay, tmp_path):
    file = tmp_path / "plan.toml"
    options = ("--machine", "gpfs-small", "--ranks", 32, "--json", "-", "-o", file)
    completed = forebay("plan", "s3d", *options)
    assert completed.code == 0
    document = completed.json
    assert document["plans"][0]["total_s"] <= document["best"]["total_s"]
    assert document["best"]["total_s"] <= 1.02 * document["plans"][0]["total_s"]
    assert document["steps"] == 15
    written = tomllib.loads(file.read_text())
    assert written["strategy"] == document["best"]["plan"]["strategy"]
    assert file.read_text().startswith("# ")


@needs_model
def test_machine_without_enough_memory_is_an_error(forebay, tmp_path):
    machine = tmp_path / "tiny.toml"
    machine.write_text(
        'format = 1\nname = "tiny"\n[client]\ncount = 4\nmemory_bytes = "1 MiB"\n'
        "[[servers]]\nlatency_us = 1\nconcurrency = 1\nbandwidth_mb_per_s = 100\n"
    )
    completed = forebay("plan", "enzo", "--machine", machine, "--ranks", 8)
    assert completed.code == 1
    assert "and has 1 MiB; use fewer ranks on each node" in completed.err


@needs_model
def test_machine_with_an_impossible_number_is_an_error_with_its_line(forebay, tmp_path):
    machine = tmp_path / "bad.toml"
    machine.write_text('format = 1\nname = "bad"\n[[servers]]\nlatency_us = -5\n')
    completed = forebay("plan", "enzo", "--machine", machine, "--ranks", 8)
    assert completed.code == 1
    assert "line 4: servers.latency_us is -5" in completed.err


def test_random_plans_are_valid_and_repeat_with_their_seed():
    plans = emulated_plans.random_plans(40, 8, seed=3)
    assert plans == emulated_plans.random_plans(40, 8, seed=3)
    assert all(1 <= one["files"] <= one["writers"] <= 8 for one in plans)
    assert len({emulated_plans.backend_of(one) for one in plans}) == 40
