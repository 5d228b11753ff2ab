# SPDX-License-Identifier: Apache-2.0
"""`forebay bench checkpoint`: cases as kernels, comparisons of samples, and tables."""

import os
import signal
import subprocess
import sys
import time

import pytest

from forebay import native
from forebay.benchmarks.checkpoint import Bench
from forebay.benchmarks.checkpoint_cases import all_cases, block_sizes, kernel_of
from forebay.benchmarks.overlap import slowdown
from forebay.benchmarks.rows import Results, Setup, summarize
from forebay.errors import EXIT_USAGE
from forebay.kernel.run import RUNNER
from forebay.report.checkpoint_tables import print_cases, title_of

LIMIT_S = 60
COMMAND_LINE = "import sys; from forebay.cli import main; sys.exit(main(sys.argv[1:]))"
MACHINE = {
    "cpu_model": "Fast One",
    "cores_usable": 2,
    "memory_bytes": 1 << 34,
    "kernel": "6.1",
    "file_system": {"type": "ext4", "device": {"name": "vda"}},
    "others_busy_cores": 0.3,
}
WRITTEN = {
    "perceived_mb_s": 1500.0,
    "durable_mb_s": 1234.0,
    "drain_s": 0.25,
    "interval_s": 0.2,
    "fill_s": 0.004,
    "memory_max_bytes": 1 << 20,
    "memory_sum_bytes": 1 << 22,
    "files": 16.0,
}


def case(candidates, **more):
    usual = {
        "case": "ckpt.durable.4.equal",
        "writers": 4,
        "readers": 0,
        "sizes": "equal",
        "computing": "none",
        "steps": 4,
    }
    metrics = {
        name: {key: {"value": value, "spread": [value, value]} for key, value in values.items()}
        for name, values in candidates.items()
    }
    return usual | {"candidates": metrics} | more


def samples_of(rates: dict[str, list[float]]) -> dict[str, list[dict]]:
    return {name: [{"rate": one} for one in values] for name, values in rates.items()}


@pytest.fixture
def bench(tmp_path):
    """A benchmark without measurements."""
    return Bench(Results(set()), Setup(tmp_path, "quick", None))


def test_blocks_have_all_bytes_of_a_step_and_the_largest_are_spread():
    assert block_sizes("equal", 4, 4096) == [1024] * 4
    for ranks in (2, 4, 8):
        sizes = block_sizes("exponential", ranks, 1 << 24)
        assert sum(sizes) == 1 << 24
        assert all(size % 8 == 0 and size > 0 for size in sizes)
    sizes = block_sizes("exponential", 8, 1 << 24)
    assert max(sizes) / (sum(sizes) / 8) == pytest.approx(2.9, abs=0.01)
    assert abs(sizes.index(max(sizes)) - sizes.index(sorted(sizes)[-2])) > 1


def test_every_case_is_a_valid_kernel_with_its_bytes():
    for one in all_cases(1 << 20):
        kernel = kernel_of(one, 1 << 20, 0)
        values = kernel.plan()["operations"][0]["size"]["values"]
        assert (len(values), sum(values)) == (one.writers, 1 << 20)
        assert (len(kernel.operations) == 2) == (one.readers > 0)


def test_goal_is_the_ratio_in_the_worst_case_paired_by_round(bench):
    bench.samples = {
        "ckpt.durable.4.equal": samples_of(
            {"forebay": [4, 8], "forebay:serial": [1, 1], "hdf5": [9, 9], "posix": [2, 2]}
        ),
        "ckpt.durable.4.exponential": samples_of({"forebay": [3, 3], "posix": [2, 3]}),
        "ckpt.durable.4.equal.openmpi": samples_of({"forebay": [6, 6], "hdf5": [3, 2]}),
    }
    from forebay.benchmarks.checkpoint_cases import COMPARISONS

    for comparison in COMPARISONS:
        bench.compare(comparison)
    found = {one["id"]: one for one in bench.results.rows}
    assert set(found) == {"ckpt.durable.over_fpp", "ckpt.durable.over_hdf5"}
    over_files = found["ckpt.durable.over_fpp"]
    assert (over_files["value"], over_files["spread"], over_files["met"]) == (1.25, [1, 1.5], True)
    assert set(over_files["peers"]) == {
        "forebay in ckpt.durable.4.exponential",
        "posix in ckpt.durable.4.exponential",
    }
    assert found["ckpt.durable.over_hdf5"]["value"] == 2.5
    assert "forebay and pnetcdf" in bench.results.skipped["ckpt.durable.over_pnetcdf"]


def test_memory_rows_compare_staging(bench):
    def memory(staging, over_plan):
        numbers = {"staging_bytes": staging, "memory_sum_bytes": staging}
        return [numbers | {"staging_over_plan": over_plan}] * 5

    bench.samples["ckpt.memory.8.exponential"] = {
        "forebay:brigade,writers=1": memory(6, 0.5),
        "forebay:gather,writers=1,memory_mib=68": memory(12, 1.2),
    }
    bench.add_memory_rows()
    found = {one["id"]: (one["value"], one["met"]) for one in bench.results.rows}
    assert found == {"ckpt.memory_over_plan": (1.2, False), "ckpt.brigade_memory": (0.5, True)}


def test_slowdown_is_that_of_the_same_round():
    def run(backend, number, total_s):
        return {"backend": backend, "round": number, "total_s": total_s}

    runs = [
        run("none", 0, 2.0),
        run("forebay", 0, 3.0),
        run("forebay", 1, 8.0),
        run("none", 1, 4.0),
    ]
    assert slowdown({"runs": runs}, "forebay", "total_s") == [1.5, 2.0]


def test_spread_is_the_range_of_few_samples_and_the_quartiles_of_many():
    few, many = summarize([3, 1, 2]), summarize(list(range(9)))
    assert (few["value"], few["spread"], few["spread_kind"]) == (2, [1, 3], "range")
    assert (many["value"], many["spread"], many["spread_kind"]) == (4, [2, 6], "quartiles")


def test_unknown_id_is_refused_with_the_valid_ones(forebay, libexec):
    completed = forebay("bench", "checkpoint", "--only", "ckpt.durable.5.equal")
    assert completed.code == EXIT_USAGE
    assert "unknown id: ckpt.durable.5.equal; valid ids: ckpt.brigade_memory" in completed.err


def test_number_of_ranks_cannot_be_set(forebay, libexec):
    """A number that is set and ignored would give a false result."""
    completed = forebay("bench", "checkpoint", "--ranks", "4")
    assert completed.code == EXIT_USAGE
    assert "checkpoint has its own ranks" in completed.err


@pytest.mark.parametrize(
    "name, better",
    [
        ("ckpt.perceived.adopt_us", "lower"),
        ("ckpt.perceived.over_memcpy", "higher"),
        ("ckpt.open_us", "lower"),
        ("ckpt.overlap", "lower"),
        ("ckpt.durable.over_fpp", "higher"),
    ],
)
def test_rows_are_measured(forebay, real_native, tmp_path, name, better):
    real_native("forebay-bench")
    real_native(RUNNER)
    args = ("--quick", "--only", name, "--dir", tmp_path, "--json", "-")
    found = forebay("bench", "checkpoint", *args).json
    if why := found["skipped"].get(name):
        assert "mount" in why or "fuse" in why or "emufs" in why
        pytest.skip(why)
    (row,) = found["results"]
    assert (row["id"], row["runs"] >= 5, row["better"]) == (name, True, better)
    assert row["goal"] is not None
    assert 0 < row["spread"][0] <= row["value"] <= row["spread"][1]
    assert found["machine"]["cores_usable"] > 0
    assert list(tmp_path.iterdir()) == []


def test_longest_candidate_is_not_folded_on_80_columns(capsys):
    from rich.console import Console

    longest = "forebay:file-per-process,adopt"
    large = WRITTEN | {"memory_max_bytes": 1008 << 20, "memory_sum_bytes": 1008 << 20}
    cases = [case({longest: large | {"staging_bytes": 1008 << 20}})]
    print_cases(Console(width=80), {"parameters": {"cases": cases}})
    lines = [one for one in capsys.readouterr().out.splitlines() if longest in one]
    assert [one.split()[-1] for one in lines] == ["ms", "16"]


def test_settings_of_fio_are_printed(capsys):
    from forebay.report.terminal import make_console

    slow = {"setting": "4 jobs, 4 MiB", "mb_s": 1000.4}
    fast = {"setting": "1 job, 1 MiB", "mb_s": 1999.6}
    again = slow | {"mb_s": 1100.0}
    tried = {"tried_writing": [slow, fast, again], "tried_reading": [slow]}
    fio = {"writing": "1 job, 1 MiB", "reading": "4 jobs, 4 MiB", **tried}
    print_cases(make_console(), {"parameters": {"cases": [], "fio": fio}})
    out = " ".join(capsys.readouterr().out.split())
    assert "fio, writing: 1 job, 1 MiB; tried: 1 job, 1 MiB 2000, 4 jobs, 4 MiB 1100 MB/s." in out
    assert "fio, reading: 4 jobs, 4 MiB; tried: 4 jobs, 4 MiB 1000 MB/s." in out
    for what, other in (("writing", "reading"), ("reading", "writing")):
        alone = {what: fio[what], f"tried_{what}": fio[f"tried_{what}"]}
        print_cases(make_console(), {"parameters": {"cases": [], "fio": alone}})
        out = " ".join(capsys.readouterr().out.split())
        assert f"fio, {what}: {fio[what]}" in out
        assert f"fio, {other}" not in out


def test_titles_describe_cases(capsys):
    reading = case({"fpp:direct": {"restart_mb_s": 900.0}}, writers=8, readers=3)
    computing = case({"shared": {"overhead": 0.2}}, computing="memory")
    assert title_of(reading) == "8 ranks, equal sizes, read by 3, cold"
    assert title_of(computing) == "4 ranks, equal sizes, computing: memory"
    from forebay.report.terminal import make_console

    print_cases(make_console(), {"parameters": {"cases": [reading, computing, case({})]}})
    out = capsys.readouterr().out
    assert "restart" in out
    assert "computing / alone" in out
    assert "fill" not in out.split("Bandwidths")[0]


def test_open_mpi_launcher_has_its_full_name(monkeypatch):
    monkeypatch.setattr(native.os, "geteuid", lambda: 1000)
    args = native.launcher(native.OpenMpi(8))
    assert args[:2] == ["mpiexec.openmpi", "--oversubscribe"]
    assert args[-2:] == ["-n", "8"]
    assert "--allow-run-as-root" not in args
    monkeypatch.setattr(native.os, "geteuid", lambda: 0)
    assert "--allow-run-as-root" in native.launcher(native.OpenMpi(8))


def test_terminated_run_leaves_no_files(real_native, environment, tmp_path):
    """The launcher kills the ranks while they remove their files."""
    real_native(RUNNER)
    args = ["bench", "checkpoint", "--only", "ckpt.durable.2.equal", "--dir", str(tmp_path)]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND_LINE, *args],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        end = time.monotonic() + LIMIT_S
        while not any(files for _, _, files in os.walk(tmp_path)):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.01)
        process.terminate()
        assert process.wait(LIMIT_S) == 128 + signal.SIGTERM
        assert os.listdir(tmp_path) == []
    finally:
        process.kill()
        process.wait()
