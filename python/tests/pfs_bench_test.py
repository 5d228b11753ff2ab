# SPDX-License-Identifier: Apache-2.0
"""`forebay bench pfs`: the plans of its sweep, and its rows on a small file, for real."""

import pytest

from forebay import emufs_mount
from forebay.benchmarks import pfs
from forebay.benchmarks.reading import Times, reading_kernel, times_of
from forebay.kernel.run import RUNNER, RunSettings, run

SWEPT = Times(
    {
        "session": [[9.0], [4.0]],
        "session:depth=4": [[3.0], [8.0]],
        "session:depth=16": [[6.0], [2.0]],
        "session:depth=64": [[7.0], [7.0]],
    }
)


def test_plans_have_room_for_twice_the_bytes_in_flight():
    plans = pfs.plans_to_sweep(1)
    assert len(plans) == len(set(plans)) == 18
    for plan in plans:
        words = (word.split("=") for word in plan.removeprefix("session:").split(","))
        values = {key: int(value) for key, value in words}
        assert values["request_kib"] <= values["splinter_kib"]
        assert values["window_mib"] << 10 >= 2 * values["depth"] * values["request_kib"]
        assert values["window_mib"] << 10 >= 2 * values["splinter_kib"]


def test_plans_of_two_ranks_have_agents_of_both_kinds():
    one, two = pfs.plans_to_sweep(1), pfs.plans_to_sweep(2)
    for agents in ("per-rank", "per-node"):
        assert [plan.replace(f"{agents},", "") for plan in two if agents in plan] == [*one]


def test_fastest_plans_exclude_the_automatic_one():
    assert pfs.fastest(SWEPT, 2) == ["session:depth=16", "session:depth=4"]


def test_automatic_plan_is_compared_with_the_fastest_of_each_round():
    assert pfs.over_fastest(SWEPT) == [3, 2]


def test_times_are_those_of_the_slowest_rank_of_each_step():
    phases = {"read": [[1.0, 2.0], [4.0, 3.0]]}
    document = {"backends": ["session"], "runs": [{"backend": "session", "phases": phases}]}
    times = times_of(document)
    assert times.of("session") == [2.0]
    assert times.of("session", 1) == [4.0]


def test_each_step_reads_the_input_with_another_number_of_tasks(real_native, tmp_path):
    real_native(RUNNER)
    kernel = reading_kernel(1 << 20, (2, 64), ranks=2)
    backends = ("session", "posix:per-call", "posix:shared", "mpiio")
    settings = RunSettings(backends, tmp_path, 2, rounds=2, warm_ups=0, cold=True, keep_input=True)
    document = run(kernel, settings)
    assert document["failures"] == {}
    assert len(document["runs"]) == 2 * len(backends)
    for one in document["runs"]:
        assert one["step_bytes"] == [[1 << 19, 1 << 19]] * 2
    kept = [one["verified_bytes"] == 0 for one in document["runs"]]
    assert kept == [False] + [True] * (len(kept) - 1)  # only the first run has written the input
    assert list(tmp_path.iterdir()) == []


def test_input_that_was_not_written_fails_the_reads(real_native, tmp_path):
    real_native(RUNNER)
    settings = RunSettings(("forebay", "session"), tmp_path, 1, rounds=1, keep_input=True)
    document = run(reading_kernel(1 << 20, (2,), ranks=1), settings)
    assert "No such file" in document["failures"]["session"]


def test_rows_without_a_mount_have_the_reason(forebay, libexec, monkeypatch, tmp_path):
    monkeypatch.setattr(emufs_mount, "unavailable_reason", lambda: "no device")
    only = ",".join(pfs.IDS)
    completed = forebay("bench", "pfs", "--only", only, "--dir", tmp_path, "--json", "-")
    assert completed.json["skipped"] == dict.fromkeys(pfs.IDS, "no device")


@pytest.mark.skipif(emufs_mount.unavailable_reason() != "", reason="nothing can be mounted")
def test_rows_are_measured_on_a_mount(forebay, real_native, monkeypatch, tmp_path):
    real_native(RUNNER)
    real_native(emufs_mount.PROGRAM)
    monkeypatch.setattr(pfs, "FILE_BYTES", {"quick": 8 << 20})
    monkeypatch.setattr(pfs, "NAIVE_TASKS", {"quick": 64})
    monkeypatch.setattr(pfs, "AUTO_FILE_MIB", {"quick": (4,)})
    monkeypatch.setattr(pfs, "AUTO_MACHINES", ("lustre-small",))
    monkeypatch.setattr(pfs, "SIZES_KIB", (1024,))
    args = ("--quick", "--only", ",".join(pfs.IDS), "--dir", tmp_path, "--json", "-")
    completed = forebay("bench", "pfs", *args)
    assert completed.code == 0, completed.err
    rows = {row["id"]: row for row in completed.json["results"]}
    assert [*rows] == [*pfs.IDS]
    assert all(row["value"] > 0 for row in rows.values())
    assert len(rows[pfs.LIMIT]["peers"]) == len(pfs.TASK_COUNTS)
    (one, two) = completed.json["parameters"][pfs.AUTO]
    assert (one["plans"], two["plans"]) == (3, 6)
    assert one["best"].startswith("session:splinter_kib=1024")
    assert list(tmp_path.iterdir()) == []
