# SPDX-License-Identifier: Apache-2.0
"""Rows of benchmarks in Python: rounds, statistics, and the stages of `forebay bench cube`."""

import pytest

from forebay.benchmarks.rows import Goal, Results, paired_rounds, ratios, require_space, worst_of
from forebay.errors import ForebayError, SkippedError


def test_rounds_alternate_after_a_warm_up_round():
    calls, reports = [], []
    variants = {name: lambda name=name: calls.append(name) or len(calls) for name in "ab"}
    samples = paired_rounds("row", variants, 3, reports.append)
    assert "".join(calls) == "abbabaab"
    assert samples == {"a": [4, 6, 7], "b": [3, 5, 8]}
    assert (reports[-1].done, reports[-1].total, reports[-1].what) == (8, 8, "row")


def test_worst_samples_depend_on_the_direction_of_the_goal():
    samples = [[1, 2, 30], [3, 3, 3]]
    assert worst_of(samples, Goal(1)) == [1, 2, 30]
    assert worst_of(samples, Goal(1, "lower")) == [3, 3, 3]
    assert ratios([2, 9], [1, 3]) == [2, 3]


def test_too_little_space_is_an_error_with_both_numbers(tmp_path):
    require_space(tmp_path, 0)
    with pytest.raises(ForebayError, match="MiB are needed and .* MiB are free; .* --dir"):
        require_space(tmp_path, 1 << 60)


def test_stages_write_equal_profiles_in_a_real_run(forebay, real_native, tmp_path):
    for name in ("forebay-bench", "forebay-bench-remap-stage", "forebay-cube"):
        real_native(name)
    ids = {"cube.over_original", "cube.efficiency", "cube.write_amplification", "cube.threads"}
    args = ("--quick", "--only", ",".join(ids), "--dir", tmp_path, "--json", "-")
    completed = forebay("bench", "cube", *args)
    assert completed.code == 0, completed.err
    document = completed.json
    assert {one["id"] for one in document["results"]} == ids - set(document["skipped"])
    (stages,) = document["parameters"]["cube.stages"]
    assert len(stages["stages"]) == 7
    assert document["machine"]["cores_usable"] > 0
    assert not list(tmp_path.iterdir()), "files of the run are left"


def test_selected_rows_of_a_group_are_skipped_with_the_reason():
    def add_nothing():
        raise SkippedError("no emulator")

    def add_unselected():
        raise AssertionError("none of the rows is selected")

    results = Results(only={"a", "c"})
    results.run_groups({add_nothing: ("a", "b"), add_unselected: ("d",)})
    assert results.skipped == {"a": "no emulator"}
