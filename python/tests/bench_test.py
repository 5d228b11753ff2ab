# SPDX-License-Identifier: Apache-2.0
"""`forebay bench`: passed arguments, printed tables, and plots that agree with the numbers."""

import json
import re

import pytest

from forebay import native
from forebay.report.bench_plot import (
    AXIS_MAX,
    AXIS_MIN,
    REMARK_MAX,
    axis_limit,
    bars_of,
    draw_results,
    remark_of,
)
from forebay.report.bench_table import print_results, title_of
from forebay.report.stages_plot import parts_of

MACHINE = {
    "cpu_model": "Fast One",
    "cores_usable": 2,
    "memory_bytes": 1 << 34,
    "kernel": "6.1",
    "file_system": {"type": "ext4", "device": {"name": "vda"}},
    "others_busy_cores": 0.314,
}


def row(name, value, **more):
    usual = {
        "id": name,
        "value": value,
        "unit": "1",
        "spread": [value * 0.9, value * 1.1],
        "spread_kind": "range",
        "runs": 5,
        "goal": None,
        "better": None,
        "met": None,
        "peers": {},
    }
    return usual | more


PREAD = {"value": 0.4, "unit": "s", "spread": [0.3, 0.5]}
DOCUMENT = {
    "benchmark": "solo",
    "version": "1.0.0",
    "parameters": {"quick": True},
    "machine": MACHINE,
    "results": [
        row("solo.warm", 0.6, goal=0.75, better="lower", met=True, peers={"pread": PREAD}),
        row("solo.hit_us", 0.08, unit="us", goal=0.05, better="lower", met=False),
        row("solo.rate", 4.0, unit="GB/s", goal=2.0, better="higher", met=True),
        row("solo.extra", 1.0, unit="s"),
    ],
}


def line_with(text, word):
    (line,) = (line for line in text.splitlines() if word in line)
    return line


def recorded_args(completed):
    """The arguments that a fake program received, without the file for partial results."""
    return re.sub(r" --partial-results \S+partial-results\.json", "", completed.json["benchmark"])


def test_the_table_shows_value_spread_goal_and_peers(forebay, fake_program):
    fake_program("forebay-bench", DOCUMENT)
    completed = forebay("bench", "solo")
    assert completed.code == 0
    assert "solo (Forebay 1.0.0, quick)" in completed.out
    met = line_with(completed.out, "solo.warm")
    for text in ("0.600", "0.540 … 0.660", "✓ ≤ 0.75"):
        assert text in met
    assert "  pread 400 ms" in completed.out
    assert "✗ ≤ 0.05 µs" in line_with(completed.out, "solo.hit_us")
    assert "✓ ≥ 2 GB/s" in line_with(completed.out, "solo.rate")
    assert not {"✓", "✗"} & set(line_with(completed.out, "solo.extra"))
    assert "ext4 on vda, other processes kept 0.31 cores busy" in completed.out


def test_the_table_fits_a_narrow_terminal(capsys):
    from rich.console import Console

    print_results(Console(width=72, highlight=False), DOCUMENT)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 72
    assert "solo.warm" in line_with("\n".join(lines), "✓ ≤ 0.75")


def test_options_are_passed_on(forebay, fake, tmp_path):
    fake(
        "forebay-bench",
        f"print(json.dumps({DOCUMENT!r} | {{'benchmark': ' '.join(sys.argv[1:])}}))",
    )
    completed = forebay(
        "bench", "solo", "--quick", "--only", "a,b", "--dir", tmp_path, "--json", "-"
    )
    assert recorded_args(completed) == f"solo --dir {tmp_path} --quick --only a,b --progress"


def test_full_option_requests_larger_files(forebay, fake):
    fake(
        "forebay-bench",
        f"print(json.dumps({DOCUMENT!r} | {{'benchmark': ' '.join(sys.argv[1:])}}))",
    )
    completed = forebay("bench", "solo", "--full", "--json", "-")
    assert recorded_args(completed) == "solo --dir . --full --progress"
    completed = forebay("bench", "solo", "--full", "--quick")
    assert (completed.code, completed.err) == (2, "error: --quick excludes --full\n")


def test_title_names_the_full_workload():
    assert title_of(DOCUMENT | {"parameters": {"full": True}}) == "solo (Forebay 1.0.0, full)"


def test_missed_goal_is_not_a_failure(forebay, fake_program):
    fake_program("forebay-bench", DOCUMENT | {"results": [DOCUMENT["results"][1]]})
    assert forebay("bench", "solo").code == 0


def test_failure_after_results_prints_both(forebay, fake_program):
    error = {"class": "no-space", "message": "reserve space: 1 MiB is free; free some"}
    fake_program("forebay-bench", DOCUMENT, exit_code=1, error=error)
    completed = forebay("bench", "solo")
    assert completed.code == 1
    assert "solo.warm" in completed.out
    assert completed.err == "error: reserve space: 1 MiB is free; free some\n"


def test_failure_without_results_prints_only_the_error(forebay, fake_program):
    error = {"class": "io", "message": "read: broken"}
    fake_program("forebay-bench", DOCUMENT | {"results": []}, exit_code=1, error=error)
    completed = forebay("bench", "solo")
    assert (completed.code, completed.out) == (1, "")


@pytest.fixture
def two_benchmarks(fake):
    listed = json.dumps([{"name": "a", "description": "A"}, {"name": "b", "description": "B"}])
    document = json.dumps(DOCUMENT)
    fake(
        "forebay-bench",
        f"document = json.loads({document!r})\n"
        "document['benchmark'] = sys.argv[1]\n"
        f"print({listed!r} if sys.argv[1] == '--list' else json.dumps(document))",
    )


def test_all_runs_each_listed_benchmark(forebay, two_benchmarks):
    completed = forebay("bench", "--all", "--json", "-")
    assert [one["benchmark"] for one in completed.json] == ["a", "b"]


def test_failure_of_one_benchmark_keeps_results_of_others(forebay, fake):
    error = json.dumps({"error": {"class": "io", "message": "read: broken"}})
    good = json.dumps(DOCUMENT | {"benchmark": "b"})
    listed = json.dumps([{"name": "a", "description": "A"}, {"name": "b", "description": "B"}])
    fake(
        "forebay-bench",
        f"if sys.argv[1] == 'a': sys.exit(print({error!r}, file=sys.stderr) or 1)\n"
        f"print({listed!r} if sys.argv[1] == '--list' else {good!r})",
    )
    completed = forebay("bench", "--all", "--json", "-")
    assert [one["benchmark"] for one in completed.json] == ["b"]
    assert completed.code == 1
    assert completed.err.startswith("error: read: broken")


def test_all_plots_each_benchmark(forebay, two_benchmarks, tmp_path):
    completed = forebay("bench", "--all", "--plot", tmp_path / "results.png")
    assert completed.code == 0
    pictures = [tmp_path / "results-a.png", tmp_path / "results-b.png"]
    assert sorted(tmp_path.glob("*.png")) == pictures
    for file in pictures:
        assert f"picture: {file}" in completed.out
        read_png(file)


def test_bars_are_relative_to_their_goals():
    met, missed, higher = bars_of(DOCUMENT)
    assert met.value == pytest.approx(0.8)
    assert missed.value == pytest.approx(1.6)
    assert higher.value == pytest.approx(0.5)
    assert higher.low < higher.value < higher.high
    assert (met.remark, met.peers) == ("pread 400 ms", [])


def test_peer_in_the_same_unit_is_on_the_axis():
    peers = {"other": {"value": 1.5, "unit": "1", "spread": [1, 2]}, "plain number": 3}
    (bar,) = bars_of({"results": [row("a", 0.6, goal=0.75, met=True, peers=peers)]})
    assert bar.peers == [pytest.approx(2.0)]
    assert bar.remark == "other 1.50 · plain number 3.00"


@pytest.mark.parametrize(("value", "limit"), [(0.1, AXIS_MIN), (50, AXIS_MAX), (2, 2.42)])
def test_axis_includes_the_goal_and_is_bounded(value, limit):
    bars = bars_of({"results": [row("a", value, goal=1.0, better="lower", met=False)]})
    assert axis_limit(bars) == pytest.approx(limit)


def test_remark_of_many_peers_is_bounded():
    peers = {f"peer number {i}": {"value": i, "unit": "s"} for i in range(9)}
    remark = remark_of(peers)
    assert remark.startswith("peer number 0 0 s · ") and remark.endswith(" more")
    assert len(remark) < REMARK_MAX + len(" · 8 more") + 1
    assert remark_of({"alone" * 30: 1.0}).startswith("alone")
    assert remark_of({}) == ""


def read_png(file):
    from matplotlib import image

    pixels = image.imread(file)
    assert pixels.std() > 0.05, "the picture is empty"
    return pixels


def test_plot_is_written(forebay, fake_program, tmp_path):
    fake_program("forebay-bench", DOCUMENT)
    file = tmp_path / "solo.png"
    completed = forebay("bench", "solo", "--plot", file)
    assert completed.code == 0
    assert f"picture: {file}" in completed.out
    assert read_png(file).shape[1] > 1200


def test_curves_of_gain_are_a_second_plot(forebay, fake_program, tmp_path):
    point = {"ratio": 0.1, "gain": 1.2, "gain_low": 1.1, "gain_high": 1.3, "model": 1.1}
    curves = {"600 MB/s": [point | {"ratio": 1.0}, point], "local disk": [point]}
    fake_program("forebay-bench", DOCUMENT | {"parameters": {"engine.gain.curve": curves}})
    file = tmp_path / "results.png"
    completed = forebay("bench", "solo", "--plot", file)
    assert completed.code == 0, completed.err
    second = tmp_path / "results-gain.png"
    assert f"picture: {second}" in completed.out
    read_png(second)


def stage(name, total, compute, write):
    times = {"total": total, "compute": compute, "write": write}
    return {"name": name} | {
        part: {"value": value, "spread": [value * 0.9, value * 1.1]}
        for part, value in times.items()
    }


def stages_of(threads):
    return {
        "threads": threads,
        "input_bytes": threads * 4912,
        "compute_over_write": {"value": 4.6, "spread": [4, 5]},
        "stages": [
            stage("original", 4, 2, 1),
            stage("+ AIO", 3, 2, 0.5),
            stage("+ pool", 2, 2.5, 1),
        ],
    }


@pytest.mark.parametrize("inputs", [[stages_of(1023)], [stages_of(65535), stages_of(262143)]])
def test_optimization_stages_are_a_second_plot(inputs, forebay, fake_program, tmp_path):
    fake_program("forebay-bench", DOCUMENT | {"parameters": {"cube.stages": inputs}})
    completed = forebay("bench", "solo", "--plot", tmp_path / "results.png")
    assert completed.code == 0, completed.err
    second = tmp_path / "results-stages.png"
    assert f"picture: {second}" in completed.out
    read_png(second)


def test_parts_of_a_stage_add_up_to_its_time():
    assert parts_of(stage("original", 4, 2, 1)) == [2, 1, 1]
    # The sum of all threads' computing may exceed the elapsed time.
    assert parts_of(stage("+ pool", 2, 2.5, 1)) == [2, 0, 0]


@pytest.mark.parametrize("results", [[], [row("a", 1.0)], [row("a", 9.0, goal=1.0, met=False)]])
def test_unusual_results_are_plotted(results, tmp_path):
    draw_results(DOCUMENT | {"results": results}, tmp_path / "a.png")
    read_png(tmp_path / "a.png")


def test_unwritable_plot_is_an_error(forebay, fake_program, tmp_path):
    fake_program("forebay-bench", DOCUMENT)
    file = tmp_path / "dangling.png"
    file.symlink_to(tmp_path / "none" / "a.png")
    completed = forebay("bench", "solo", "--plot", file)
    assert completed.code == 1
    assert "cannot write" in completed.err


@pytest.fixture
def benchmark_of_ranks(fake, libexec, two_benchmarks):
    listed = json.dumps([{"name": "many", "description": "M"}])
    fake(
        "forebay-bench-mpi",
        f"document = json.loads({json.dumps(DOCUMENT)!r})\n"
        "document['benchmark'] = ' '.join([os.environ.get('RANKS_OF_FAKE', '?'), *sys.argv[1:]])\n"
        f"print({listed!r} if sys.argv[1] == '--list' else json.dumps(document))",
    )
    return fake(
        "mpiexec", "os.environ['RANKS_OF_FAKE'] = sys.argv[1]\nos.execv(sys.argv[2], sys.argv[2:])"
    )


def test_a_benchmark_of_ranks_is_started_by_a_launcher(forebay, benchmark_of_ranks, monkeypatch):
    monkeypatch.setattr(native, "launcher", lambda ranks: [str(benchmark_of_ranks), str(ranks)])
    completed = forebay("bench", "many", "--ranks", "5", "--json", "-")
    assert recorded_args(completed) == "20 many --dir . --ranks 5 --progress"
    assert forebay("bench", "a", "--json", "-").json["benchmark"] == "a"


def test_a_launcher_of_the_user_starts_the_ranks(forebay, benchmark_of_ranks):
    launcher = f"{benchmark_of_ranks} {{n}}"
    completed = forebay("bench", "many", "--ranks", "5", "--launcher", launcher, "--json", "-")
    assert recorded_args(completed) == "20 many --dir . --ranks 5 --progress"


def test_benchmark_of_two_programs_is_listed_once_and_runs_on_ranks(
    forebay, benchmark_of_ranks, monkeypatch
):
    monkeypatch.setattr(native, "launcher", lambda ranks: [str(benchmark_of_ranks), str(ranks)])
    benchmark_of_ranks.with_name("forebay-bench-mpi").write_text(
        benchmark_of_ranks.with_name("forebay-bench-mpi").read_text().replace('"many"', '"a"')
    )
    names = [one["name"] for one in forebay("bench", "--list", "--json", "-").json]
    assert names == ["a", "b"]
    assert forebay("bench", "a", "--json", "-").json["benchmark"].startswith("8 a ")


def test_all_and_list_include_benchmarks_of_ranks(forebay, benchmark_of_ranks, monkeypatch):
    monkeypatch.setattr(native, "launcher", lambda ranks: [str(benchmark_of_ranks), str(ranks)])
    assert [one["name"] for one in forebay("bench", "--list", "--json", "-").json] == [
        "a",
        "b",
        "many",
    ]
    completed = forebay("bench", "--all", "--json", "-")
    assert [one["benchmark"].split()[:2] for one in completed.json] == [["a"], ["b"], ["8", "many"]]


def document_of(name, results, **more):
    return DOCUMENT | {"benchmark": name, "results": results} | more


ONE_HOST = document_of(
    "read",
    [row("read.warm", 0.7), row("read.idle_cpu", 0.0001, goal=0.001, met=True)],
    skipped={"read.hosts.over_link": "ranks on two hosts are required", "read.x": "because"},
)
ON_TWO_HOSTS = document_of(
    "read",
    [row("read.hosts.over_link", 1.02), row("read.idle_cpu", 0.002, goal=0.001, met=False)],
    parameters={"ranks": 2},
)


@pytest.fixture
def benchmark_of_hosts(fake, libexec, monkeypatch):
    """make(script) prepares `forebay bench read` with this code as the script for two hosts."""

    def make(script):
        fake(
            "forebay-bench-mpi",
            "answer = [{'name': 'read', 'description': 'R'}] if sys.argv[1] == '--list' else "
            f"json.loads({json.dumps(ONE_HOST)!r})\nprint(json.dumps(answer))",
        )
        fake("forebay-bench", "print('[]')")
        (libexec / "two_hosts.py").write_text(
            f"#!/usr/bin/env python3\nimport json, sys\n{script}\n", encoding="utf-8"
        )
        (libexec / "two_hosts.py").chmod(0o755)
        launcher = fake("mpiexec", "os.execv(sys.argv[1], sys.argv[1:])")
        start = native.launcher
        monkeypatch.setattr(native, "mpi_launcher", lambda: [str(launcher)])
        monkeypatch.setattr(
            native, "launcher", lambda on: [str(launcher)] if isinstance(on, int) else start(on)
        )

    return make


def test_rows_of_one_and_two_hosts_merge_and_the_worse_is_kept(forebay, benchmark_of_hosts):
    benchmark_of_hosts(f"print(json.dumps(json.loads({json.dumps(ON_TWO_HOSTS)!r})))")
    document = forebay("bench", "read", "--json", "-").json
    rows = {one["id"]: one for one in document["results"]}
    assert list(rows) == ["read.warm", "read.idle_cpu", "read.hosts.over_link"]
    idle = rows["read.idle_cpu"]
    assert (idle["value"], idle["met"]) == (0.002, False)
    assert {name: peer["value"] for name, peer in idle["peers"].items()} == {
        "one host": 0.0001,
        "two hosts": 0.002,
    }
    assert document["skipped"] == {"read.x": "because"}
    assert document["parameters"]["two_hosts"]["ranks"] == 2


def test_two_hosts_run_only_their_requested_rows(forebay, benchmark_of_hosts, tmp_path):
    note = tmp_path / "note"
    benchmark_of_hosts(
        f"open({str(note)!r}, 'w').write(' '.join(sys.argv[1:]))\n"
        f"print(json.dumps(json.loads({json.dumps(ON_TWO_HOSTS)!r})))"
    )
    forebay("bench", "read", "--quick", "--only", "read.warm,read.hosts.computing", "--ranks", "4")
    args = note.read_text()
    assert "--library MPICH --ranks-per-host 2 --rate-mbyte 100 -- " in args
    assert "forebay-bench-mpi read --dir . --quick --only read.hosts.computing --progr" in args
    note.unlink()
    forebay("bench", "read", "--only", "read.warm")
    assert not note.exists()


def test_without_two_hosts_their_rows_are_left_out_with_the_reason(forebay, benchmark_of_hosts):
    benchmark_of_hosts(
        "print('skipped: two hosts are unavailable: network namespaces require root')\nsys.exit(77)"
    )
    completed = forebay("bench", "read")
    assert completed.code == 0
    reason = "two hosts are unavailable: network namespaces require root"
    assert f"read.hosts.over_link left out: {reason}" in completed.out
    assert f"read.hosts.computing left out: {reason}" in completed.out
    assert f"read.idle_cpu left out: on two hosts: {reason}" in completed.out
    assert "read.x left out: because" in completed.out


def test_a_failure_on_two_hosts_leaves_the_rows_of_one(forebay, benchmark_of_hosts):
    error = json.dumps(json.dumps({"error": {"class": "io", "message": "read: broken"}}))
    benchmark_of_hosts(f"print({error}, file=sys.stderr)\nsys.exit(1)")
    completed = forebay("bench", "read")
    assert completed.code == 1
    assert "read.warm" in completed.out
    assert completed.err.startswith("error: read: broken")


def test_missing_launcher_error_names_the_remedy(forebay, benchmark_of_ranks, monkeypatch):
    monkeypatch.setattr(native.sys, "prefix", "/nowhere")
    completed = forebay("bench", "many")
    assert completed.code == 1
    assert "no mpiexec in /nowhere/bin; run make build" in completed.err


def test_the_real_program_lists_its_benchmarks(forebay, real_native):
    real_native("forebay-bench")
    completed = forebay("bench", "--list", "--json", "-")
    assert completed.code == 0
    assert all(set(one) == {"name", "description"} for one in completed.json)
    assert "solo" in [one["name"] for one in completed.json]


def test_the_real_program_refuses_an_unknown_benchmark(forebay, real_native):
    real_native("forebay-bench")
    completed = forebay("bench", "nonsense")
    assert completed.code == 2
    assert completed.err.splitlines()[-1] == "error: no benchmark named nonsense"


def test_real_program_measures_each_effect(forebay, real_native, tmp_path):
    real_native("forebay-bench")
    names = ("pinning", "allocator", "one_pass", "false_sharing", "huge_pages", "registered")
    ids = [f"engine.effect.{name}" for name in names]
    args = ("--quick", "--only", ",".join(ids), "--dir", tmp_path, "--json", "-")
    completed = forebay("bench", "engine", *args)
    assert completed.code == 0, completed.err
    document = completed.json
    rows = {one["id"]: one for one in document["results"]}
    assert sorted([*rows, *document["skipped"]]) == sorted(ids)
    assert "engine.effect.allocator" in rows or document["machine"]["cores_usable"] < 2
    for row in rows.values():
        assert row["value"] > 0 and row["goal"] is None
        assert "as it is" in row["peers"]
        assert len(row["peers"]) >= 2
    assert not list(tmp_path.iterdir()), "files of the run are left"


def test_real_program_compares_each_program_of_bench_run(forebay, real_native, tmp_path):
    for name in ("forebay-bench", "forebay-bench-reader", "forebay-run-agent"):
        real_native(name)
    ids = {"run.call_us", "run.identical"}
    args = ("--quick", "--only", ",".join(ids), "--dir", tmp_path, "--json", "-")
    completed = forebay("bench", "run", *args)
    assert completed.code == 0, completed.err
    rows = {one["id"]: one for one in completed.json["results"]}
    skipped = completed.json["skipped"]
    assert set(rows) == ids - set(skipped)
    assert abs(rows["run.call_us"]["value"]) < 100
    assert all(skipped.values())
    if "run.identical" in rows:
        assert rows["run.identical"]["value"] >= 20
    assert not list(tmp_path.iterdir()), "files of the run are left"
