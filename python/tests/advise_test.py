# SPDX-License-Identifier: Apache-2.0
"""`forebay advise`: the search with made times, and the command for real."""

import pytest

from forebay.errors import ForebayError
from forebay.kernel import advise
from forebay.kernel.kernel_file import read_kernel
from forebay.kernel.run import RUNNER, RunSettings


@pytest.fixture
def search(monkeypatch, tmp_path):
    """search(times, baseline) advises among settings with these times in seconds; None: it fails.
    Returns the advice, and the settings of each run."""

    def make(times, baseline):
        asked = []

        def run(_kernel, settings, _on_progress):
            asked.append(settings.backends)
            failing = {name: "broken" for name in settings.backends if times[name] is None}
            runs = [
                {"backend": name, "time": times[name]}
                for _ in range(settings.rounds)
                for name in settings.backends
                if name not in failing
            ]
            return {"runs": runs, "failures": failing, "error": None}

        monkeypatch.setattr(advise, "run", run)
        monkeypatch.setattr(advise.metrics, "values_of", lambda one: {"durable_s": one["time"]})
        settings = RunSettings(tuple(times), tmp_path, 4)
        return advise.advise(read_kernel("s3d"), settings, baseline), asked

    return make


def test_fastest_setting_is_found_in_few_runs(search):
    times = {f"s{number}": 1.0 + number for number in range(16)} | {"today": 40.0}
    advice, asked = search(times, "today")
    assert advice.advised == "s0"
    assert [len(names) for names in asked] == [17, 8, 4, 4]
    assert asked[-1] == ("s0", "s1", "s2", "today")
    worth = advice.document()["worth"]
    assert (worth["value"], worth["runs"]) == (40.0, advise.FINAL_ROUNDS)
    assert list(advice.document()["tried"])[0] == "s0"


def test_setting_of_today_is_kept_if_it_is_best(search):
    advice, _ = search({"a": 2.0, "b": 3.0, "c": 4.0, "today": 1.0}, "today")
    assert advice.document()["advised"] == advice.document()["today"] == "today"


def test_failing_settings_are_left_out_with_the_cause(search):
    advice, _ = search({"a": None, "b": 2.0, "c": 3.0, "d": 4.0, "today": 5.0}, "today")
    assert advice.advised == "b"
    assert advice.failures == {"a": "broken"}


def test_failing_setting_of_today_is_an_error(search):
    with pytest.raises(ForebayError, match="today, as in the log, failed: broken"):
        search({"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0, "today": None}, "today")


def test_every_candidate_states_how_it_is_applied():
    for setting in advise.candidates(read_kernel("training-reads"), 8):
        assert len(advise.how_to_apply(setting)) > 10
    assert 'strategy = "brigade"; writers = 2' in advise.how_to_apply("forebay:brigade,writers=2")
    assert "romio_cb_write=disable" in advise.how_to_apply(
        "mpiio:collective,romio_cb_write=disable"
    )


def test_sessions_are_candidates_for_kernels_that_read():
    assert "session" in advise.candidates(read_kernel("training-reads"), 2)
    assert "session" not in advise.candidates(read_kernel("s3d"), 2)


def test_command_prints_the_setting_and_its_worth(forebay, real_native, tmp_path):
    real_native(RUNNER)
    path = tmp_path / "app.toml"
    path.write_text(
        'format = 1\nname = "app"\nwriters = 2\nsteps = 2\n'
        '[[operation]]\nname = "block"\ndo = "write"\nsize = "100 KB"\n'
    )
    args = ("advise", path, "--ranks", 2, "--storage", tmp_path, "--json", "-")
    completed = forebay(*args)
    assert completed.code == 0, completed.err
    document = completed.json
    writing = advise.candidates(read_kernel("s3d"), 2)
    assert document["advised"] in document["final"]
    assert document["worth"]["value"] > 0
    assert len(document["tried"]) + len(document["failures"]) == len(writing)


def test_job_that_ends_early_is_an_error_and_no_slow_setting(monkeypatch, forebay, tmp_path):
    """Settings that the job did not reach have no times."""
    runs = [{"backend": "posix"}]
    cut = {"runs": runs, "failures": {}, "error": "the job ended early: signal 11"}
    monkeypatch.setattr(advise, "run", lambda *_: cut)
    monkeypatch.setattr(advise.metrics, "values_of", lambda _: {advise.METRIC: 1.0})
    completed = forebay("advise", "s3d", "--storage", tmp_path)
    assert completed.code == 1
    assert "signal 11" in completed.err
