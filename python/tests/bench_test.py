# SPDX-License-Identifier: Apache-2.0
"""Benchmarks: what is passed on, what is shown, and that a picture says what the numbers say."""

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
from forebay.report.ladder_plot import parts_of

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
    "version": "0.1.0",
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


def said(ran):
    """The words a fake program was called with, but for the file that it may keep results in."""
    return re.sub(r" --so-far \S+so-far\.json", "", ran.json["benchmark"])


def test_the_table_shows_value_spread_goal_and_peers(forebay, answers):
    answers("forebay-bench", DOCUMENT)
    ran = forebay("bench", "solo")
    assert ran.code == 0
    assert "solo (Forebay 0.1.0, quick)" in ran.out
    met = line_with(ran.out, "solo.warm")
    for text in ("0.600", "0.540 … 0.660", "✓ ≤ 0.75"):
        assert text in met
    assert "  pread 400 ms" in ran.out
    assert "✗ ≤ 0.05 µs" in line_with(ran.out, "solo.hit_us")
    assert "✓ ≥ 2 GB/s" in line_with(ran.out, "solo.rate")
    assert not {"✓", "✗"} & set(line_with(ran.out, "solo.extra"))
    assert "ext4 on vda, others kept 0.31 cores busy" in ran.out


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
    ran = forebay("bench", "solo", "--quick", "--only", "a,b", "--dir", tmp_path, "--json", "-")
    assert said(ran) == f"solo --dir {tmp_path} --quick --only a,b --progress"


def test_larger_files_are_asked_for(forebay, fake):
    fake(
        "forebay-bench",
        f"print(json.dumps({DOCUMENT!r} | {{'benchmark': ' '.join(sys.argv[1:])}}))",
    )
    ran = forebay("bench", "solo", "--full", "--json", "-")
    assert said(ran) == "solo --dir . --full --progress"
    ran = forebay("bench", "solo", "--full", "--quick")
    assert (ran.code, ran.err) == (2, "error: --quick excludes --full\n")


def test_the_title_tells_of_large_files():
    assert title_of(DOCUMENT | {"parameters": {"full": True}}) == "solo (Forebay 0.1.0, full)"


def test_a_missed_goal_is_no_failure(forebay, answers):
    answers("forebay-bench", DOCUMENT | {"results": [DOCUMENT["results"][1]]})
    assert forebay("bench", "solo").code == 0


def test_results_before_a_failure_are_shown_and_the_failure_too(forebay, answers):
    error = {"class": "no-space", "message": "reserve space: 1 MiB is free; free some"}
    answers("forebay-bench", DOCUMENT, exit_code=1, error=error)
    ran = forebay("bench", "solo")
    assert ran.code == 1
    assert "solo.warm" in ran.out
    assert ran.err == "error: reserve space: 1 MiB is free; free some\n"


def test_a_failure_without_results_is_only_that(forebay, answers):
    error = {"class": "io", "message": "read: broken"}
    answers("forebay-bench", DOCUMENT | {"results": []}, exit_code=1, error=error)
    ran = forebay("bench", "solo")
    assert (ran.code, ran.out) == (1, "")


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


def test_all_runs_each_benchmark_that_is_listed(forebay, two_benchmarks):
    ran = forebay("bench", "--all", "--json", "-")
    assert [one["benchmark"] for one in ran.json] == ["a", "b"]


def test_one_of_all_that_fails_leaves_the_others_theirs(forebay, fake):
    error = json.dumps({"error": {"class": "io", "message": "read: broken"}})
    good = json.dumps(DOCUMENT | {"benchmark": "b"})
    listed = json.dumps([{"name": "a", "description": "A"}, {"name": "b", "description": "B"}])
    fake(
        "forebay-bench",
        f"if sys.argv[1] == 'a': sys.exit(print({error!r}, file=sys.stderr) or 1)\n"
        f"print({listed!r} if sys.argv[1] == '--list' else {good!r})",
    )
    ran = forebay("bench", "--all", "--json", "-")
    assert [one["benchmark"] for one in ran.json] == ["b"]
    assert ran.code == 1
    assert ran.err.startswith("error: read: broken")


def test_all_draws_a_picture_of_each(forebay, two_benchmarks, tmp_path):
    ran = forebay("bench", "--all", "--plot", tmp_path / "results.png")
    assert ran.code == 0
    pictures = [tmp_path / "results-a.png", tmp_path / "results-b.png"]
    assert sorted(tmp_path.glob("*.png")) == pictures
    for file in pictures:
        assert f"picture: {file}" in ran.out
        read_png(file)


def test_every_bar_is_relative_to_its_goal_and_less_is_better():
    met, missed, higher = bars_of(DOCUMENT)
    assert met.value == pytest.approx(0.8)
    assert missed.value == pytest.approx(1.6)
    assert higher.value == pytest.approx(0.5)
    assert higher.low < higher.value < higher.high
    assert (met.remark, met.peers) == ("pread 400 ms", [])


def test_a_peer_in_the_same_unit_gets_its_place_on_the_axis():
    peers = {"other": {"value": 1.5, "unit": "1", "spread": [1, 2]}, "plain number": 3}
    (bar,) = bars_of({"results": [row("a", 0.6, goal=0.75, met=True, peers=peers)]})
    assert bar.peers == [pytest.approx(2.0)]
    assert bar.remark == "other 1.50 · plain number 3.00"


@pytest.mark.parametrize(("value", "limit"), [(0.1, AXIS_MIN), (50, AXIS_MAX), (2, 2.42)])
def test_the_axis_shows_the_goal_and_cuts_what_is_far(value, limit):
    bars = bars_of({"results": [row("a", value, goal=1.0, better="lower", met=False)]})
    assert axis_limit(bars) == pytest.approx(limit)


def test_many_peers_do_not_push_the_axis_out_of_the_picture():
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


def test_the_picture_is_drawn(forebay, answers, tmp_path):
    answers("forebay-bench", DOCUMENT)
    file = tmp_path / "solo.png"
    ran = forebay("bench", "solo", "--plot", file)
    assert ran.code == 0
    assert f"picture: {file}" in ran.out
    assert read_png(file).shape[1] > 1200


def test_curves_of_gain_are_a_second_picture(forebay, answers, tmp_path):
    point = {"ratio": 0.1, "gain": 1.2, "gain_low": 1.1, "gain_high": 1.3, "model": 1.1}
    curves = {"600 MB/s": [point | {"ratio": 1.0}, point], "local disk": [point]}
    answers("forebay-bench", DOCUMENT | {"parameters": {"engine.gain.curve": curves}})
    file = tmp_path / "results.png"
    ran = forebay("bench", "solo", "--plot", file)
    assert ran.code == 0, ran.err
    second = tmp_path / "results-gain.png"
    assert f"picture: {second}" in ran.out
    read_png(second)


def rung(name, total, compute, write):
    times = {"total": total, "compute": compute, "write": write}
    return {"name": name} | {
        part: {"value": value, "spread": [value * 0.9, value * 1.1]}
        for part, value in times.items()
    }


def ladder(threads):
    return {
        "threads": threads,
        "input_bytes": threads * 4912,
        "compute_over_write": {"value": 4.6, "spread": [4, 5]},
        "rungs": [rung("original", 4, 2, 1), rung("+ AIO", 3, 2, 0.5), rung("+ pool", 2, 2.5, 1)],
    }


@pytest.mark.parametrize("inputs", [[ladder(1023)], [ladder(65535), ladder(262143)]])
def test_the_ladder_is_a_second_picture(inputs, forebay, answers, tmp_path):
    answers("forebay-bench", DOCUMENT | {"parameters": {"cube.ladder": inputs}})
    ran = forebay("bench", "solo", "--plot", tmp_path / "results.png")
    assert ran.code == 0, ran.err
    second = tmp_path / "results-ladder.png"
    assert f"picture: {second}" in ran.out
    read_png(second)


def test_the_parts_of_a_rung_add_up_to_its_time():
    assert parts_of(rung("original", 4, 2, 1)) == [2, 1, 1]
    # Threads may have computed longer, in all, than the clock went on.
    assert parts_of(rung("+ pool", 2, 2.5, 1)) == [2, 0, 0]


@pytest.mark.parametrize("results", [[], [row("a", 1.0)], [row("a", 9.0, goal=1.0, met=False)]])
def test_unusual_results_are_drawn_too(results, tmp_path):
    draw_results(DOCUMENT | {"results": results}, tmp_path / "a.png")
    read_png(tmp_path / "a.png")


def test_a_picture_that_cannot_be_written_is_an_error(forebay, answers, tmp_path):
    answers("forebay-bench", DOCUMENT)
    file = tmp_path / "dangling.png"
    file.symlink_to(tmp_path / "none" / "a.png")
    ran = forebay("bench", "solo", "--plot", file)
    assert ran.code == 1
    assert "cannot write" in ran.err


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
    ran = forebay("bench", "many", "--ranks", "5", "--json", "-")
    assert said(ran) == "20 many --dir . --ranks 5 --progress"
    assert forebay("bench", "a", "--json", "-").json["benchmark"] == "a"


def test_a_benchmark_of_one_rank_has_more_for_the_rows_that_take_them(
    forebay, benchmark_of_ranks, monkeypatch
):
    monkeypatch.setattr(native, "launcher", lambda ranks: [str(benchmark_of_ranks), str(ranks)])
    benchmark_of_ranks.with_name("forebay-bench-mpi").write_text(
        benchmark_of_ranks.with_name("forebay-bench-mpi").read_text().replace('"many"', '"pfs"')
    )
    assert said(forebay("bench", "pfs", "--json", "-")) == "2 pfs --dir . --ranks 1 --progress"


def test_what_runs_with_and_without_ranks_is_listed_once_and_runs_on_ranks(
    forebay, benchmark_of_ranks, monkeypatch
):
    monkeypatch.setattr(native, "launcher", lambda ranks: [str(benchmark_of_ranks), str(ranks)])
    benchmark_of_ranks.with_name("forebay-bench-mpi").write_text(
        benchmark_of_ranks.with_name("forebay-bench-mpi").read_text().replace('"many"', '"a"')
    )
    names = [one["name"] for one in forebay("bench", "--list", "--json", "-").json]
    assert names == ["a", "b"]
    assert forebay("bench", "a", "--json", "-").json["benchmark"].startswith("8 a ")


def test_all_and_the_list_have_benchmarks_of_ranks(forebay, benchmark_of_ranks, monkeypatch):
    monkeypatch.setattr(native, "launcher", lambda ranks: [str(benchmark_of_ranks), str(ranks)])
    assert [one["name"] for one in forebay("bench", "--list", "--json", "-").json] == [
        "a",
        "b",
        "many",
    ]
    ran = forebay("bench", "--all", "--json", "-")
    assert [one["benchmark"].split()[:2] for one in ran.json] == [["a"], ["b"], ["8", "many"]]


def document_of(name, results, **more):
    return DOCUMENT | {"benchmark": name, "results": results} | more


ONE_HOST = document_of(
    "read",
    [row("read.warm", 0.7), row("read.idle_cpu", 0.0001, goal=0.001, met=True)],
    left_out={"read.hosts.over_link": "it takes ranks on two hosts", "read.x": "because"},
)
ON_TWO_HOSTS = document_of(
    "read",
    [row("read.hosts.over_link", 1.02), row("read.idle_cpu", 0.002, goal=0.001, met=False)],
    parameters={"ranks": 2},
)


@pytest.fixture
def benchmark_of_hosts(fake, libexec, monkeypatch):
    """`forebay bench read` where the script for two hosts is this code."""

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


def test_rows_of_two_hosts_join_those_of_one_and_of_both_the_worse_is_shown(
    forebay, benchmark_of_hosts
):
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
    assert document["left_out"] == {"read.x": "because"}
    assert document["parameters"]["two_hosts"]["ranks"] == 2


def test_the_program_is_started_on_two_hosts_for_the_rows_that_are_wanted(
    forebay, benchmark_of_hosts, tmp_path
):
    note = tmp_path / "note"
    benchmark_of_hosts(
        f"open({str(note)!r}, 'w').write(' '.join(sys.argv[1:]))\n"
        f"print(json.dumps(json.loads({json.dumps(ON_TWO_HOSTS)!r})))"
    )
    forebay("bench", "read", "--quick", "--only", "read.warm,read.hosts.computing", "--ranks", "4")
    words = note.read_text()
    assert "--library MPICH --ranks-per-host 2 --rate-mbyte 100 -- " in words
    assert "forebay-bench-mpi read --dir . --quick --only read.hosts.computing --progr" in words
    note.unlink()
    forebay("bench", "read", "--only", "read.warm")
    assert not note.exists()


def test_without_two_hosts_their_rows_are_left_out_with_the_reason(forebay, benchmark_of_hosts):
    benchmark_of_hosts(
        "print('skipped: no two hosts here: network namespaces take root')\nsys.exit(77)"
    )
    ran = forebay("bench", "read")
    assert ran.code == 0
    reason = "no two hosts here: network namespaces take root"
    assert f"read.hosts.over_link left out: {reason}" in ran.out
    assert f"read.hosts.computing left out: {reason}" in ran.out
    assert f"read.idle_cpu left out: on two hosts: {reason}" in ran.out
    assert "read.x left out: because" in ran.out


def test_a_failure_on_two_hosts_leaves_the_rows_of_one(forebay, benchmark_of_hosts):
    error = json.dumps(json.dumps({"error": {"class": "io", "message": "read: broken"}}))
    benchmark_of_hosts(f"print({error}, file=sys.stderr)\nsys.exit(1)")
    ran = forebay("bench", "read")
    assert ran.code == 1
    assert "read.warm" in ran.out
    assert ran.err.startswith("error: read: broken")


def test_without_a_launcher_the_error_says_what_to_do(forebay, benchmark_of_ranks, monkeypatch):
    monkeypatch.setattr(native.sys, "prefix", "/nowhere")
    ran = forebay("bench", "many")
    assert ran.code == 1
    assert "no mpiexec in /nowhere/bin; run make build" in ran.err


def test_the_real_program_lists_its_benchmarks(forebay, real_native):
    real_native("forebay-bench")
    ran = forebay("bench", "--list", "--json", "-")
    assert ran.code == 0
    assert all(set(one) == {"name", "description"} for one in ran.json)
    assert "solo" in [one["name"] for one in ran.json]


def test_the_real_program_refuses_an_unknown_benchmark(forebay, real_native):
    real_native("forebay-bench")
    ran = forebay("bench", "nonsense")
    assert ran.code == 2
    assert ran.err.splitlines()[-1] == "error: no benchmark named nonsense"


def test_the_real_program_shows_what_each_effect_is_worth(forebay, real_native, tmp_path):
    real_native("forebay-bench")
    names = ("pinning", "allocator", "one_pass", "false_sharing", "huge_pages", "registered")
    ids = [f"engine.effect.{name}" for name in names]
    words = ("--quick", "--only", ",".join(ids), "--dir", tmp_path, "--json", "-")
    ran = forebay("bench", "engine", *words)
    assert ran.code == 0, ran.err
    document = ran.json
    rows = {one["id"]: one for one in document["results"]}
    assert sorted([*rows, *document["left_out"]]) == sorted(ids)
    assert "engine.effect.allocator" in rows or document["machine"]["cores_usable"] < 2
    for row in rows.values():
        assert row["value"] > 0 and row["goal"] is None
        assert "as it is" in row["peers"]
        assert len(row["peers"]) >= 2
    assert not list(tmp_path.iterdir()), "files of the run are left"
