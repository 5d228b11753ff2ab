# SPDX-License-Identifier: Apache-2.0
"""`forebay bench checkpoint`: two programs, one document, and its tables."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from forebay import checkpoint, native
from forebay.errors import EXIT_USAGE
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
    "metadata_calls": 48.0,
    "dedicated_ranks": 0.0,
}


def row(name, value, unit="MB/s"):
    return {
        "id": name,
        "value": value,
        "unit": unit,
        "spread": [value, value],
        "spread_kind": "range",
        "runs": 5,
        "goal": None,
        "better": None,
        "met": None,
        "peers": {},
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


def document(mpi, candidate, results, skipped):
    return {
        "benchmark": "checkpoint",
        "version": "1.0.0",
        "parameters": {"mpi": mpi, "cases": [case({candidate: WRITTEN})]},
        "machine": MACHINE,
        "results": results,
        "skipped": skipped,
    }


NO_HDF5 = "no candidate named hdf5"
FIRST = document(
    "MPICH 5, built here",
    "fpp:direct",
    [row("ckpt.durable.4.equal", 1400.0), row("ckpt.durable.over_fpp", 1.1, "1")],
    {"ckpt.durable.over_hdf5": NO_HDF5, "ckpt.restart.over_fio": "not measured"},
)
SECOND = document(
    "Open MPI v4",
    "hdf5:collective",
    [
        row("ckpt.durable.4.equal", 1300.0),
        row("ckpt.durable.over_fpp", 0.9, "1"),
        row("ckpt.durable.over_hdf5", 1.7, "1"),
    ],
    {"ckpt.durable.over_adios1": "no candidate named adios1"},
)


@pytest.fixture
def programs(fake, tmp_path, monkeypatch):
    """programs(second) creates both fake programs, which write their arguments to a file. Returns
    that file."""
    note = tmp_path / "note"

    def start(ranks):
        return [str(launcher), f"{type(ranks).__name__}"]

    launcher = fake(
        "start",
        f"open({str(note)!r}, 'a').write(' '.join(sys.argv[1:]) + '\\n')\n"
        "os.execv(sys.argv[2], sys.argv[2:])",
    )
    monkeypatch.setattr(native, "launcher", start)

    def make(second):
        listed = json.dumps([{"name": "checkpoint", "description": "C"}])
        fake("forebay-bench", "print('[]')")
        for name, answer in ((checkpoint.PROGRAM, FIRST), (checkpoint.OPENMPI_PROGRAM, second)):
            if answer is None:
                continue
            text = json.dumps(answer)
            fake(name, f"print({listed!r} if '--list' in sys.argv else {text!r})")
        return note

    return make


def test_rows_and_reasons_of_the_second_program_have_a_suffix():
    def document(rows, skipped):
        results = [{"id": name, "value": 1} for name in rows]
        return {"results": results, "skipped": skipped, "parameters": {"cases": []}}

    first = document(["ckpt.durable.4.equal"], {"ckpt.restart.4to4": "no room"})
    second = document(
        ["ckpt.restart.4to4"],
        {"ckpt.durable.4.equal": "no room", "hdf5 in ckpt.durable.4.equal": "broken"},
    )
    merged = checkpoint.merge_documents(first, second)
    assert [row["id"] for row in merged["results"]] == [
        "ckpt.durable.4.equal",
        "ckpt.restart.4to4.openmpi",
    ]
    assert merged["skipped"] == {
        "ckpt.restart.4to4": "no room",
        "ckpt.durable.4.equal.openmpi": "no room",
        "hdf5 in ckpt.durable.4.equal.openmpi": "broken",
    }


def test_rows_of_both_programs_are_kept_and_goals_merge(forebay, programs):
    programs(SECOND)
    found = forebay("bench", "checkpoint", "--json", "-").json
    values = {one["id"]: one["value"] for one in found["results"]}
    assert values == {
        "ckpt.durable.4.equal": 1400.0,
        "ckpt.durable.over_fpp": 1.1,
        "ckpt.durable.4.equal.openmpi": 1300.0,
        "ckpt.durable.over_hdf5": 1.7,
    }
    assert found["skipped"] == {
        "ckpt.restart.over_fio": "not measured",
        "ckpt.durable.over_adios1": "no candidate named adios1",
    }
    assert [one["mpi"] for one in found["parameters"]["cases"]] == [
        "MPICH 5, built here",
        "Open MPI v4",
    ]


def test_environment_of_each_program_is_kept_and_printed(forebay, programs):
    """Load by other processes and settings of fio may differ between the programs."""
    tried = [{"setting": "1 job, 4 MiB", "mb_s": 900.0}]
    fio = {"writing": "1 job, 4 MiB", "tried_writing": tried}
    busy = MACHINE | {"others_busy_cores": 1.75}
    programs(SECOND | {"machine": busy, "parameters": SECOND["parameters"] | {"fio": fio}})
    found = forebay("bench", "checkpoint", "--json", "-").json
    assert found["parameters"]["runs"] == [
        {"mpi": "MPICH 5, built here", "machine": MACHINE},
        {"mpi": "Open MPI v4", "machine": busy, "fio": fio},
    ]
    out = " ".join(forebay("bench", "checkpoint").out.split())
    assert "MPICH 5: Fast One" in out
    assert "other processes kept 0.30 cores busy" in out
    assert "other processes kept 1.75 cores busy. fio, writing: 1 job, 4 MiB; tried:" in out


def test_rows_of_forebay_alone_come_from_the_first_program(forebay, programs):
    """So do reasons for missing rows: the second program only reports that it lacks them."""
    answer = SECOND["skipped"] | {"ckpt.overlap": "elsewhere", "ckpt.open_us": "elsewhere"}
    overlap = [row("ckpt.overlap", 3.0, "1")]
    programs(SECOND | {"skipped": answer, "results": SECOND["results"] + overlap})
    found = forebay("bench", "checkpoint", "--json", "-").json
    assert "ckpt.overlap" not in {one["id"] for one in found["results"]}
    assert "ckpt.open_us" not in found["skipped"]


def test_missing_second_program_is_the_reason_of_its_rows(forebay, programs):
    programs(None)
    completed = forebay("bench", "checkpoint", "--json", "-")
    assert completed.json["skipped"]["ckpt.durable.over_hdf5"] == checkpoint.NOT_BUILT
    assert [one["id"] for one in completed.json["results"]] == [
        one["id"] for one in FIRST["results"]
    ]


def test_failure_of_the_second_program_keeps_results_of_the_first(forebay, programs, fake):
    programs(SECOND)
    error = json.dumps({"error": {"class": "io", "message": "read: broken"}})
    fake(checkpoint.OPENMPI_PROGRAM, f"sys.exit(print({error!r}, file=sys.stderr) or 1)")
    completed = forebay("bench", "checkpoint", "--json", "-")
    assert [one["id"] for one in completed.json["results"]] == [
        one["id"] for one in FIRST["results"]
    ]
    assert completed.code == 1
    assert completed.err.startswith("error: read: broken")


def test_interrupt_keeps_results_of_the_first_program(forebay, programs, fake):
    programs(SECOND)
    fake(checkpoint.OPENMPI_PROGRAM, f"os.kill({os.getpid()}, signal.SIGTERM)\ntime.sleep(60)")
    completed = forebay("bench", "checkpoint", "--json", "-")
    assert [one["id"] for one in completed.json["results"]] == [
        one["id"] for one in FIRST["results"]
    ]
    assert (completed.code, completed.err) == (128 + signal.SIGTERM, "error: terminated\n")


def test_interrupt_keeps_partial_results_of_the_running_program(forebay, programs, fake):
    """Killed ranks print nothing; their results so far are in a file."""
    programs(None)
    part = FIRST | {"results": FIRST["results"][:1]}
    fake(
        checkpoint.PROGRAM,
        "path = sys.argv[sys.argv.index('--partial-results') + 1]\n"
        f"open(path, 'w').write({json.dumps(part)!r})\n"
        f"os.kill({os.getpid()}, signal.SIGTERM)\ntime.sleep(60)",
    )
    completed = forebay("bench", "checkpoint", "--json", "-")
    assert [one["id"] for one in completed.json["results"]] == ["ckpt.durable.4.equal"]
    assert (completed.code, completed.err) == (128 + signal.SIGTERM, "error: terminated\n")


@pytest.mark.parametrize(
    "only, started",
    [
        ("ckpt.durable.over_hdf5", ["OpenMpi"]),
        ("ckpt.durable.over_fpp,ckpt.restart.over_fio", ["int"]),
        *((name, ["int"]) for name in checkpoint.FOREBAY_RESULTS),
        ("ckpt.open_us,ckpt.durable.over_hdf5", ["int", "OpenMpi"]),
        ("ckpt.durable.over_fpp,ckpt.durable.over_hdf5", ["int", "OpenMpi"]),
        ("ckpt.durable.4.equal", ["int", "OpenMpi"]),
    ],
)
def test_only_programs_of_requested_rows_are_started(forebay, programs, only, started):
    note = programs(SECOND)
    assert forebay("bench", "checkpoint", "--only", only, "--json", "-").code == 0
    lines = note.read_text().splitlines()
    assert [line.split()[0] for line in lines] == started
    assert all(f"--only {only}" in line for line in lines)


@pytest.mark.parametrize(
    "name, better",
    [
        ("ckpt.perceived.adopt_us", "lower"),
        ("ckpt.perceived.over_memcpy", "higher"),
        ("ckpt.open_us", "lower"),
        ("ckpt.overlap.heavy", "lower"),
    ],
)
def test_rows_of_forebay_alone_are_measured(forebay, real_native, tmp_path, name, better):
    real_native(checkpoint.PROGRAM)
    args = ("--quick", "--only", name, "--dir", tmp_path, "--json", "-")
    found = forebay("bench", "checkpoint", *args).json
    if why := found["skipped"].get(name):
        assert "mount" in why or "fuse" in why
        pytest.skip(why)
    (row,) = found["results"]
    assert row["id"] == name
    assert row["runs"] >= 5
    assert row["goal"] is not None
    assert row["better"] == better
    assert 0 < row["spread"][0] <= row["value"] <= row["spread"][1]


def test_number_of_ranks_cannot_be_set(forebay, programs):
    """Cases use 2, 4 or 8 ranks. A number that is set and ignored would give a false result."""
    note = programs(None)
    completed = forebay("bench", "checkpoint", "--ranks", "4")
    assert completed.code == EXIT_USAGE
    assert "checkpoint has 8 ranks" in completed.err
    assert not note.exists()


def test_benchmark_is_listed(forebay, programs):
    programs(SECOND)
    assert [one["name"] for one in forebay("bench", "--list", "--json", "-").json] == ["checkpoint"]


def test_tables_list_every_candidate_with_its_values(forebay, programs):
    programs(SECOND)
    out = forebay("bench", "checkpoint").out
    assert "4 ranks, equal sizes, MPICH 5" in out
    assert "4 ranks, equal sizes, Open MPI v4" in out
    speed, cost = [one.split() for one in out.splitlines() if "fpp:direct" in one][:2]
    assert speed[:9] == ["fpp:direct", "1500", "1234", "250", "ms", "200", "ms", "4.00", "ms"]
    assert " ".join(cost).startswith("fpp:direct 1 MiB 4 MiB ")
    assert cost[-2:] == ["16", "48"]


def test_longest_candidate_is_not_folded_on_80_columns(capsys):
    from rich.console import Console

    longest = "forebay:file-per-process,adopt"
    large = WRITTEN | {"memory_max_bytes": 1008 << 20, "memory_sum_bytes": 1008 << 20}
    cases = [case({longest: large | {"staging_bytes": 1008 << 20}})]
    print_cases(Console(width=80), {"parameters": {"cases": cases}})
    lines = [one for one in capsys.readouterr().out.splitlines() if longest in one]
    assert [one.split()[-1] for one in lines] == ["ms", "48"]


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
    for name in (checkpoint.PROGRAM, "forebay-bench"):
        real_native(name)
    args = ["bench", "checkpoint", "--only", "ckpt.durable.over_fpp", "--dir", str(tmp_path)]
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


def test_single_goal_measures_only_its_candidates(forebay, real_native):
    real_native(checkpoint.PROGRAM)
    only = "ckpt.restart.over_fio"
    found = forebay("bench", "checkpoint", "--quick", "--only", only, "--json", "-").json
    if reasons := [found["skipped"][name] for name in ("fio", only) if name in found["skipped"]]:
        pytest.skip(reasons[0])
    (goal,) = found["results"]
    assert (goal["id"], goal["value"] > 0) == (only, True)
    cases = {one["case"]: one["candidates"] for one in found["parameters"]["cases"]}
    assert set(cases) == {"ckpt.restart.4to4", "ckpt.restart.8to3"}
    for candidates in cases.values():
        assert {name.partition(":")[0] for name in candidates} == {"forebay"}
        assert all(one["restart_mb_s"]["value"] > 0 for one in candidates.values())
    assert "reading" in found["parameters"]["fio"]
    assert "writing" not in found["parameters"]["fio"]
    assert [name for name in found["skipped"] if " in " in name] == []
