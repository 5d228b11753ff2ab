# SPDX-License-Identifier: Apache-2.0
"""`forebay demo` compares fairly, reports the result as it is, and generates its snapshot once."""

import copy
import json
import shutil
from pathlib import Path

import pytest

from forebay import many_tasks
from forebay.cli import demo
from forebay.comparison import PAIRS_MAX, PAIRS_MIN, Comparison, compare, require_same, to_document
from forebay.errors import ForebayError
from forebay.many_tasks import parse_points
from forebay.report.demo_plot import draw_times
from forebay.report.demo_tables import speedup_text, tasks_text
from forebay.report.tasks_plot import draw_tasks

ANALYSIS = {
    "snapshot": {"path": "a.tipsy", "file_bytes": 1 << 26, "counts": {"total": 12}},
    "source": "forebay",
    "tasks": 16,
    "threads": 2,
    "mass": 1.0,
    "center_of_mass": [0.0, 0.0, 0.0],
    "mean_velocity": [0.0, 0.0, 0.0],
    "velocity_dispersion": {"total": 0.5, "axes": [0.3, 0.3, 0.3]},
    "families": {name: {"count": 4, "mass": 0.3} for name in ("gas", "dark", "star")},
    "profile": {"shells": []},
    "times_s": {"first_particle": 0.1, "waiting": 0.25, "computing_cpu": 0.5, "total": 1.0},
    "memory": {"peak_pss_bytes": 1 << 20},
}


def run_of(reader, total):
    run = copy.deepcopy(ANALYSIS)
    run["source"] = reader
    run["times_s"]["total"] = total
    return run


def comparison_of(ours, theirs, cold=True):
    return Comparison(
        cold,
        {
            "forebay": [run_of("forebay", total) for total in ours],
            "ifstream": [run_of("ifstream", total) for total in theirs],
        },
    )


def test_readers_alternate_and_every_pair_is_labeled():
    order, label = [], []

    def analyze(reader, text):
        order.append(reader[0])
        label.append(text)
        return run_of(reader, 1.0)

    result = compare(analyze, True, limit_s=60)
    assert "".join(order) == "iffifiifif"
    assert label[2] == "cold, pair 2, forebay: "
    assert len(result.ratios()) == PAIRS_MAX


def test_minimum_of_pairs_runs_when_time_is_over():
    result = compare(lambda reader, _: run_of(reader, 1.0), False, limit_s=-1)
    assert len(result.ratios()) == PAIRS_MIN
    assert result.state == "warm"


def test_readers_that_disagree_in_the_last_bit_are_an_error():
    other = copy.deepcopy(ANALYSIS)
    other["center_of_mass"][1] = 5e-324
    with pytest.raises(ForebayError, match="disagree on center of mass"):
        require_same(ANALYSIS, other)


def test_ratios_are_taken_within_pairs():
    document = to_document(comparison_of([1, 4, 6], [2, 4, 3]))
    assert document["over_ifstream"]["value"] == 1
    assert document["over_ifstream"]["spread"] == [0.5, 2]
    assert document["over_ifstream"]["pairs_faster"] == 1
    assert document["forebay"]["total_s"]["value"] == 4
    assert document["forebay"]["first_look_s"]["value"] == pytest.approx(3.25)


@pytest.mark.parametrize(
    ("ours", "text"),
    [
        ([0.5, 0.5, 0.4], "[green]Through Forebay it takes 0.500 of the time (pairs: 0.400 … 0.5"),
        ([0.5, 1.5, 0.4], "faster in 2 of 3 pairs"),
        ([1.5, 1.2, 1.1], "[red]Through Forebay it takes 1.20 of the time"),
    ],
)
def test_verdict_matches_the_ratio(ours, text):
    ratio = to_document(comparison_of(ours, [1, 1, 1]))["over_ifstream"]
    assert text in speedup_text(ratio)


def test_times_are_plotted(tmp_path):
    comparisons = [comparison_of([1, 2, 3], [2, 3, 4]), comparison_of([1], [1], cold=False)]
    draw_times(comparisons, tmp_path / "times.png")
    assert (tmp_path / "times.png").stat().st_size > 10_000


def summary_of(value):
    spread = [0.9 * value, 1.1 * value]
    return {"value": value, "spread": spread, "spread_kind": "range", "runs": 5}


def row_of(name, value, **peers):
    named = {peer.replace("_", " "): summary_of(one) for peer, one in peers.items()}
    return summary_of(value) | {"id": name, "peers": named}


MANY_TASKS = {
    "parameters": {"ranks": 2, "file_bytes": 1 << 28},
    "results": [
        row
        for count in (16384, 2)
        for row in (
            row_of(f"tasks.{count}", 0.5, forebay=1.0 + count / 16384, naive=2.0),
            row_of(
                f"tasks.{count}.computing",
                0.8,
                naive=0.02,
                time_of_forebay=1.1,
                time_of_naive=2.1,
                time_over_that_without=1.05,
            ),
        )
    ],
}


def test_points_are_those_of_the_benchmark_in_increasing_order():
    few, many = parse_points(MANY_TASKS)
    assert (few.tasks, many.tasks) == (2, 16384)
    assert many.times_s["forebay"]["value"] == 2.0
    assert many.computing["naive"]["value"] == 0.02
    assert many.computing_times_s["naive"]["value"] == 2.1


def test_sentence_has_spread_of_times_and_speed_of_computation(capsys):
    points = many_tasks.to_document(MANY_TASKS)["points"]
    text = tasks_text(points)
    assert "Slowest / fastest: 2.00 through Forebay, 1.00 without." in text
    assert "keeps 80% to 80% of its speed" in text
    assert "takes 1.05 to 1.05 times as long as without it" in text


def test_tasks_are_plotted(tmp_path):
    draw_tasks(MANY_TASKS["parameters"], parse_points(MANY_TASKS), tmp_path / "tasks.png")
    assert (tmp_path / "tasks.png").stat().st_size > 10_000


def test_samples_come_from_the_named_directory(monkeypatch, tmp_path):
    monkeypatch.delenv("FOREBAY_SAMPLES", raising=False)
    assert demo.sample_files() == []
    (tmp_path / "tipsy").mkdir()
    for name in ("b.std", "a.tbin", "README.md"):
        (tmp_path / "tipsy" / name).touch()
    monkeypatch.setenv("FOREBAY_SAMPLES", str(tmp_path))
    assert [file.name for file in demo.sample_files()] == ["a.tbin", "b.std"]


def test_unreadable_samples_are_left_out_and_named(monkeypatch, tmp_path, capsys, real_native):
    real_native("forebay-tipsy")
    (tmp_path / "broken.std").write_bytes(b"no snapshot" * 10)
    monkeypatch.setenv("FOREBAY_SAMPLES", str(tmp_path))
    assert demo.analyze_samples() == []
    assert f"left out: recognize {tmp_path}/broken.std" in capsys.readouterr().err


def test_full_disk_is_reported_before_work(forebay, libexec, monkeypatch, tmp_path):
    usage = shutil.disk_usage(tmp_path)._replace(free=1 << 20)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    completed = forebay("demo", "--quick", "--dir", tmp_path / "demo")
    assert completed.code == 1
    assert "has 1 MiB free and 320 MiB are needed" in completed.err


def test_directory_that_cannot_be_created_is_an_error(forebay, libexec):
    completed = forebay("demo", "--dir", "/proc/none/demo")
    assert completed.code == 1
    assert "choose another directory with --dir" in completed.err


GENERATOR = """
path = sys.argv[2]
open(path, 'a').write('snapshot')
print(json.dumps({'model': {'name': 'plummer'}, 'made': os.path.getsize(path)}))
"""


def test_snapshot_is_generated_once_and_again_after_a_change(fake, tmp_path):
    fake("forebay-tipsy", GENERATOR)

    def obtain():
        return demo.prepare_snapshot(tmp_path, "64MiB", 64 << 20)

    snapshot, generated = obtain()
    assert generated["made"] == 8
    stamp = snapshot.stat().st_mtime_ns
    assert obtain() == (snapshot, generated)
    assert snapshot.stat().st_mtime_ns == stamp
    with open(snapshot, "a", encoding="utf-8") as file:
        file.write("damage")
    assert obtain()[1]["made"] == 8
    assert snapshot.stat().st_size == 8
    snapshot.with_suffix(".json").write_text("{}")
    assert obtain()[1]["made"] == 8


@pytest.mark.long
def test_real_demo(forebay, real_native, tmp_path, monkeypatch):
    real_native("forebay-tipsy")
    real_native("forebay-bench-tasks")
    monkeypatch.delenv("FOREBAY_SAMPLES", raising=False)
    json_file = tmp_path / "demo.json"
    completed = forebay("demo", "--quick", "--dir", tmp_path / "demo", "--json", json_file)
    assert completed.code == 0, completed.err
    for text in ("center of mass", "velocity dispersion", "from storage", "from the page cache"):
        assert text in completed.out
    assert "computed meanwhile" in completed.out
    document = json.loads(json_file.read_text(encoding="utf-8"))
    servers, checkpoints = document["servers"], document["checkpoints"]
    assert ("skip_reason" in servers) == ("Without a parallel file system" in completed.out)
    assert not list((tmp_path / "demo").glob(".forebay-*"))
    assert "Reads that fault" in completed.out
    assert document["pictures"][-1].endswith("foresight.png")
    names = ("density.png", "times.png", "tasks.png", "servers.png")
    expected = names[:3] if "skip_reason" in servers else names
    assert ("skip_reason" in checkpoints) == ("Without checkpoints of a solver" in completed.out)
    if "skip_reason" not in checkpoints:
        assert checkpoints["restart"]["same_fingerprint"]
        assert "forebay verify" in completed.out
        expected += ("checkpoints.png", "presets.png")
    assert not (tmp_path / "demo" / "checkpoints").exists()
    for name in expected:
        picture = tmp_path / "demo" / name
        assert str(picture) in completed.out
        assert Path(picture).stat().st_size > 10_000


def test_program_that_is_not_changed_is_printed_and_drawn(tmp_path, capsys):
    from forebay.cli import demo_unchanged
    from forebay.report.terminal import make_console

    times = {"plain": [3.0, 3.2, 3.1], "first": [0.3, 0.31, 0.29], "second": [0.25, 0.2, 0.26]}
    shown = demo_unchanged.UnchangedDemo(600, times)
    demo_unchanged.print_unchanged_demo(make_console(), shown)
    text = capsys.readouterr().out
    assert "12.4" in text
    (picture,) = demo_unchanged.draw(shown, tmp_path)
    assert Path(picture).read_bytes().startswith(b"\x89PNG")
    assert shown.to_document()["times_s"] == times
    skipped = demo_unchanged.UnchangedDemo(skipped="no root")
    assert demo_unchanged.draw(skipped, tmp_path) == []
    demo_unchanged.print_unchanged_demo(make_console(), skipped)
    assert "no root" in capsys.readouterr().out
