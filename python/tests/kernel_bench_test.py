# SPDX-License-Identifier: Apache-2.0
"""`forebay bench kernel`: rows that need no quiet machine, for real."""

import pytest

from forebay.benchmarks.kernels import has_bytes, mean_of, sized_kernel
from forebay.kernel.kernel_file import read_kernel
from forebay.kernel.run import RUNNER, step_bytes


@pytest.fixture
def bench(forebay, real_native, tmp_path):
    """bench(ids) returns the rows."""
    real_native("forebay-kernel")

    def run(*ids: str) -> dict[str, dict]:
        args = ("--quick", "--only", ",".join(ids), "--dir", tmp_path, "--json", "-")
        completed = forebay("bench", "kernel", *args)
        assert completed.code == 0, completed.err
        assert list(tmp_path.iterdir()) == []
        return {row["id"]: row for row in completed.json["results"]}

    return run


def test_draws_follow_their_distributions(bench):
    rows = bench("kernel.ks_p", "kernel.mean_error")
    assert rows["kernel.ks_p"]["met"]
    assert rows["kernel.mean_error"]["met"]
    assert len(rows["kernel.ks_p"]["peers"]) == 7


@pytest.mark.long
def test_backends_and_emitted_programs_write_the_same_bytes(bench, real_native):
    real_native(RUNNER)
    rows = bench("kernel.same_bytes", "kernel.emit.same_bytes")
    for row in rows.values():
        assert row["met"], row["peers"]


def test_statements_of_the_study_are_answered(bench, real_tools):
    assert bench("kernel.deck")["kernel.deck"]["met"]


def test_rows_of_a_log_need_the_samples(forebay, libexec, monkeypatch):
    monkeypatch.delenv("FOREBAY_SAMPLES", raising=False)
    found = forebay("bench", "kernel", "--only", "kernel.fit.sizes", "--json", "-").json
    assert "FOREBAY_SAMPLES" in found["skipped"]["kernel.fit.sizes"]


def test_means_are_those_of_the_distributions():
    def mean(size):
        return mean_of(sized_kernel(size, 1, 1).operations[0].size)

    assert mean({"family": "uniform", "low": 2, "high": 6}) == 4
    assert mean({"family": "quantiles", "values": [0, 10, 30]}) == 12.5
    parts = [
        {"family": "constant", "value": 10, "weight": 3},
        {"family": "exponential", "mean": 50, "weight": 1},
    ]
    assert mean({"family": "mixture", "parts": parts[1:]}) == 50


def test_run_with_other_bytes_or_without_verification_is_not_the_same(real_native):
    real_native("forebay-kernel")
    kernel = read_kernel("s3d").model_copy(update={"steps": 2, "writers": 3})
    expected = step_bytes(kernel, kernel.writers)
    total = sum(map(sum, expected))
    run = {"step_bytes": expected, "written_bytes": total, "read_bytes": 0, "verified_bytes": total}
    assert has_bytes(run, expected)
    assert not has_bytes(run | {"verified_bytes": total - 8}, expected)
    assert not has_bytes(run | {"written_bytes": total - 8}, expected)
    assert not has_bytes(run | {"error": "failed"}, expected)
    assert not has_bytes(None, expected)
