# SPDX-License-Identifier: Apache-2.0
"""Of a job that is killed nothing is left, whatever happens meanwhile."""

import os
import time

import pytest

from forebay import killed_run, native
from forebay.errors import ForebayError
from forebay.killed_run import kill_in_run
from forebay.report.killed_run_tables import verified_text
from forebay.report.timeline_plot import draw_timeline

RANKS = "sleep 100 & echo $! >>{file}; sleep 100 & echo $! >>{file}; wait"


def job(file) -> list[str]:
    """A launcher that starts another one, which starts two ranks."""
    script = RANKS.format(file=file)
    return ["sh", "-c", f"sh -c '{script}' & wait"]


def ranks_in(file) -> list[int]:
    return [int(word) for word in file.read_text().split()] if file.exists() else []


def has_ended(process: int) -> bool:
    """Gone, or a zombie that nobody has asked for."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def all_end(processes: list[int]) -> bool:
    limit = time.monotonic() + 10
    while time.monotonic() < limit:
        if all(has_ended(process) for process in processes):
            return True
        time.sleep(0.01)
    return False


def test_all_processes_of_the_job_are_killed(tmp_path):
    file = tmp_path / "ranks"
    assert kill_in_run(job(file), lambda: len(ranks_in(file)) == 2) >= 4
    assert all_end(ranks_in(file))


def test_they_are_killed_too_when_looking_fails(tmp_path):
    file = tmp_path / "ranks"

    def look():
        if len(ranks_in(file)) == 2:
            raise KeyError("broken")
        return False

    with pytest.raises(KeyError):
        kill_in_run(job(file), look)
    assert all_end(ranks_in(file))


def test_a_job_that_was_done_before_is_not_killed_and_one_that_failed_is_an_error():
    def look():
        time.sleep(0.3)
        return True

    assert kill_in_run(["true"], look) == 0
    with pytest.raises(ForebayError, match="failed by itself"):
        kill_in_run(["false"], look)


def test_a_job_that_ends_by_itself_is_an_error():
    with pytest.raises(ForebayError, match="ended by itself"):
        kill_in_run(["true"], lambda: False)


def test_a_dataset_that_is_not_there_has_no_step(answers, tmp_path):
    gone = {"class": "not-found", "message": "open x: No such file or directory"}
    answers("forebay-dataset", error=gone, exit_code=1)
    assert killed_run.newest_step(tmp_path) is None
    answers("forebay-dataset", {"steps": [{"step": 3}, {"step": 6}]})
    assert killed_run.newest_step(tmp_path) == 6

    answers("forebay-dataset", {"steps": [{"step": 3}], "ok": False}, exit_code=3)
    assert killed_run.newest_step(tmp_path) == 3


WHOLE = {"ok": True, "steps": [1, 2], "whole_bytes": 1 << 20, "findings": []}


def test_what_was_verified_is_told():
    assert verified_text(WHOLE) == "whole: 2 steps, 1 MiB against their checksums"


@pytest.fixture
def played(monkeypatch, tmp_path):
    """played(prints, verified): the story when runs end with these fingerprints, one by one."""

    def play(prints, verified, newest=killed_run.KILLED_AFTER):
        runs = iter(prints)

        def call(_program, words, *_, **__):
            if words[0] == "run":
                for word in words:
                    if word.endswith("kept.fb"):
                        os.mkdir(word)
                return native.Answer({"fingerprint": next(runs)}, 0)
            if words[0] == "ls":
                return native.Answer({"steps": [{"step": newest}]}, 0)
            return native.Answer(verified if words[0] == "verify" else {}, 0)

        monkeypatch.setattr(native, "call", call)
        monkeypatch.setattr(native, "find", lambda name: name)
        monkeypatch.setattr(native, "launcher", lambda _: ["mpiexec"])
        monkeypatch.setattr(killed_run, "kill_in_run", lambda *_: 5)
        return killed_run.play(tmp_path, 12, lambda _: None)

    return play


def test_a_story_ends_with_the_same_bits_and_no_damage(played):
    assert played("aaa", WHOLE).processes_killed == 5
    with pytest.raises(ForebayError, match="other bits"):
        played("aab", WHOLE)
    with pytest.raises(ForebayError, match="ended each time before it was killed"):
        played("aaa", WHOLE, newest=killed_run.STEPS)
    damaged = WHOLE | {"ok": False, "findings": [{"message": "read x: wrong sum"}, {}]}
    with pytest.raises(ForebayError, match="2 damages, the first: read x: wrong sum"):
        played("aaa", damaged)


def test_computing_and_checkpoints_are_drawn(tmp_path):
    steps = [
        {"step": n, "bytes": 1 << 25, "begun_s": n, "perceived_s": 0.1, "durable_s": 0.5}
        for n in (1, 2, 3)
    ]
    kept = {"store": "dataset", "steps": steps, "steps_s": 3.6, "drain_s": 0.4, "overhead": 0.2}
    draw_timeline({"kept": kept, "ranks": 4}, tmp_path / "timeline.png")
    assert (tmp_path / "timeline.png").stat().st_size > 10_000


def test_the_real_job_is_killed_and_goes_on(real_native, tmp_path):
    for program in (killed_run.PROGRAM, killed_run.DATASETS):
        real_native(program)
    story = killed_run.play(tmp_path, 12, lambda _: None)
    assert story.is_same
    assert story.processes_killed >= killed_run.RANKS
    assert killed_run.KILLED_AFTER <= story.resumed["first_step"] < killed_run.STEPS
    assert story.resumed["ranks"] == killed_run.RANKS_LATER
    assert story.verified["ok"]
    assert not os.listdir(tmp_path)
