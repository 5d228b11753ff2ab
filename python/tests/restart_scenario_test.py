# SPDX-License-Identifier: Apache-2.0
"""A killed job leaves no process, even after an exception, and resumes with the same bits."""

import os
import time

import pytest

from forebay import native, restart_scenario
from forebay.errors import ForebayError, NativeError
from forebay.report.restart_tables import verified_text
from forebay.report.timeline_plot import draw_timeline
from forebay.restart_scenario import kill_in_run

RANKS = "sleep 100 & echo $! >>{file}; sleep 100 & echo $! >>{file}; wait"


def job(file) -> list[str]:
    """A launcher that starts another one, which starts two ranks."""
    script = RANKS.format(file=file)
    return ["sh", "-c", f"sh -c '{script}' & wait"]


def ranks_in(file) -> list[int]:
    return [int(word) for word in file.read_text().split()] if file.exists() else []


def has_ended(process: int) -> bool:
    """Whether the process has ended. It may be a zombie for which no process has waited."""
    try:
        with open(f"/proc/{process}/stat", encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_for_exit(processes: list[int]) -> bool:
    limit = time.monotonic() + 10
    while time.monotonic() < limit:
        if all(has_ended(process) for process in processes):
            return True
        time.sleep(0.01)
    return False


def test_all_processes_of_the_job_are_killed(tmp_path):
    file = tmp_path / "ranks"
    assert kill_in_run(job(file), lambda: len(ranks_in(file)) == 2) >= 4
    assert wait_for_exit(ranks_in(file))


def test_all_processes_are_killed_when_the_condition_raises(tmp_path):
    file = tmp_path / "ranks"

    def look():
        if len(ranks_in(file)) == 2:
            raise KeyError("broken")
        return False

    with pytest.raises(KeyError):
        kill_in_run(job(file), look)
    assert wait_for_exit(ranks_in(file))


def test_completed_job_is_not_killed_and_failed_job_is_an_error():
    def look():
        time.sleep(0.3)
        return True

    assert kill_in_run(["true"], look) == 0
    with pytest.raises(ForebayError, match="failed before that"):
        kill_in_run(["false"], look)


def test_job_that_ends_too_early_is_an_error():
    with pytest.raises(ForebayError, match="ended too early"):
        kill_in_run(["true"], lambda: False)


def test_missing_dataset_has_no_step(fake_tools, tmp_path):
    def fail(_path):
        raise NativeError({"class": "not-found", "message": "open x: No such file or directory"})

    fake_tools(list_dataset=fail)
    assert restart_scenario.newest_step(tmp_path) is None
    fake_tools(list_dataset={"steps": [{"step": 3}, {"step": 6}], "ok": False})
    assert restart_scenario.newest_step(tmp_path) == 6


INTACT = {"ok": True, "steps": [1, 2], "intact_bytes": 1 << 20, "findings": []}


def test_verified_text_has_steps_and_bytes():
    assert verified_text(INTACT) == "intact: 2 steps, checksums of 1 MiB"


@pytest.fixture
def run_fake_scenario(monkeypatch, fake_tools, tmp_path):
    """run_fake_scenario(prints, verified): the scenario whose runs end with these fingerprints, in
    order."""

    def run_scenario(prints, verified, newest=restart_scenario.KILL_AFTER_STEP):
        runs = iter(prints)

        def run_program(_program, args, *_, **__):
            if args[0] == "run":
                for word in args:
                    if word.endswith("kept.fb"):
                        os.mkdir(word)
                return native.ProgramResult({"fingerprint": next(runs)}, 0)
            return native.ProgramResult({}, 0)

        fake_tools(list_dataset={"steps": [{"step": newest}]}, verify_dataset=verified)
        monkeypatch.setattr(native, "run_program", run_program)
        monkeypatch.setattr(native, "find_program", lambda name: name)
        monkeypatch.setattr(native, "launcher", lambda _: ["mpiexec"])
        monkeypatch.setattr(restart_scenario, "kill_in_run", lambda *_: 5)
        return restart_scenario.run_scenario(tmp_path, 12, lambda _: None)

    return run_scenario


def test_scenario_requires_the_same_bits_and_no_damage(run_fake_scenario):
    assert run_fake_scenario("aaa", INTACT).processes_killed == 5
    with pytest.raises(ForebayError, match="other bits"):
        run_fake_scenario("aab", INTACT)
    with pytest.raises(ForebayError, match="ended each time before it was killed"):
        run_fake_scenario("aaa", INTACT, newest=restart_scenario.STEPS)
    damaged = INTACT | {"ok": False, "findings": [{"message": "read x: wrong sum"}, {}]}
    with pytest.raises(ForebayError, match="2 findings, the first: read x: wrong sum"):
        run_fake_scenario("aaa", damaged)


def test_timeline_is_plotted(tmp_path):
    steps = [
        {"step": n, "bytes": 1 << 25, "begun_s": n, "perceived_s": 0.1, "durable_s": 0.5}
        for n in (1, 2, 3)
    ]
    report = {"store": "dataset", "steps": steps, "steps_s": 3.6, "drain_s": 0.4, "overhead": 0.2}
    draw_timeline({"checkpoint_report": report, "ranks": 4}, tmp_path / "timeline.png")
    assert (tmp_path / "timeline.png").stat().st_size > 10_000


def test_real_job_is_killed_and_resumed(real_native, real_tools, tmp_path):
    real_native(restart_scenario.PROGRAM)
    results = restart_scenario.run_scenario(tmp_path, 12, lambda _: None)
    assert results.has_same_fingerprints
    assert results.processes_killed >= restart_scenario.RANKS
    assert (
        restart_scenario.KILL_AFTER_STEP <= results.resumed["first_step"] < restart_scenario.STEPS
    )
    assert results.resumed["ranks"] == restart_scenario.RESTART_RANKS
    assert results.verified["ok"]
    assert not os.listdir(tmp_path)
