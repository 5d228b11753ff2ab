# SPDX-License-Identifier: Apache-2.0
"""Tuning profiles, `forebay tune` on made runs and real ones, and `forebay explain`."""

import json
import math
import re

import pytest

from forebay.errors import ForebayError
from forebay.kernel import run as kernel_run
from forebay.kernel.kernel_file import read_kernel
from forebay.kernel.run import RUNNER, RunSettings
from forebay.report import tune_page
from forebay.tune import explanation, kernel_search, plans, profile
from forebay.tune.search import Budget

EXAMPLE = """
format = 1

[[entries]]
machine = "bigfs"
machine_hash = "7c31b0f0a5d4e912"
ranks = 1024
nodes = 64
rank_bytes = "24 MiB"
imbalance = 1.2
median_s = 1.21
spread = 0.14
runs = 2

[entries.plan]
strategy = "reduced-blocking"
writers = 128
files = 128
unit_bytes = "4 MiB"

[[entries.points]]
predicted_s = 1.05
seconds = [1.19, 1.23]

[entries.points.plan]
strategy = "reduced-blocking"
writers = 128
files = 128
unit_bytes = "4 MiB"

[[entries.points]]
predicted_s = 2.4
seconds = [3.1]
failures = 1

[entries.points.plan]
strategy = "file-per-process"
writers = 1024
files = 1024
unit_bytes = "4 MiB"
"""
KERNEL = """
format = 1
name = "blocks"
writers = 8
steps = 2

[[operation]]
name = "block"
do = "write"
size = "1 MiB"
"""


@pytest.fixture
def app(tmp_path, real_tools):
    path = tmp_path / "app.profile"
    path.write_text(EXAMPLE)
    return path


@pytest.fixture
def kernel(tmp_path):
    path = tmp_path / "blocks.toml"
    path.write_text(KERNEL)
    return path


def entry_of(seconds_by_plan: dict) -> dict:
    """An entry of 8 ranks; its plan is the fastest one."""
    points = [
        {"plan": dict(plan), "seconds": seconds, "failures": 0}
        for plan, seconds in seconds_by_plan.items()
    ]
    best = min(points, key=lambda one: min(one["seconds"]))
    scope = {"machine": "", "ranks": 8, "nodes": 1, "rank_bytes": 1 << 20, "imbalance": 1.0}
    times = {"median_s": min(best["seconds"]), "spread": 0.0, "runs": 1}
    return scope | times | {"plan": best["plan"], "points": points}


def searched() -> dict:
    """All plans of 8 ranks: 4 writers with 2 files and units of 4 MiB are best."""
    found = {}
    for plan in plans.write_space(8).plans:
        away = [math.log2(plan["writers"] / 4), math.log2(plan["files"] / 2)]
        away.append(math.log2(plan["unit_bytes"] / 2**22) / 4)
        slower = 0.0 if plan["strategy"] == "brigade" else 1.0
        seconds = math.exp(slower + 0.4 * sum(one * one for one in away))
        found[tuple(plan.items())] = [seconds, seconds * 1.05]
    return entry_of({key: found[key] for key in [*found][::2]})


def test_example_of_the_format_page_is_read(app):
    entry = profile.read_profile(app)[0]
    assert entry["rank_bytes"] == 24 << 20
    assert entry["plan"]["unit_bytes"] == entry["points"][1]["plan"]["unit_bytes"] == 4 << 20
    assert [one["failures"] for one in entry["points"]] == [0, 1]


def test_invalid_profile_is_an_error_with_its_line_and_is_not_changed(app):
    app.write_text(EXAMPLE.replace("writers = 128", 'writers = "many"'))
    before = app.read_bytes()
    message = f"read tuning profile {app}: line 17: writers is no whole number"
    with pytest.raises(ForebayError, match=re.escape(message)):
        profile.add_entry(app, searched())
    assert app.read_bytes() == before


def test_invalid_entry_is_an_error_and_no_profile_is_created(app, tmp_path):
    created = tmp_path / "new.profile"
    with pytest.raises(ForebayError, match="entries.nodes is above entries.ranks"):
        profile.add_entry(created, searched() | {"nodes": 9})
    assert not created.exists()


def test_equal_scope_is_merged_and_comes_last(app):
    first = profile.read_profile(app)[0]
    profile.add_entry(app, first | {"ranks": 512})
    entries = profile.add_entry(app, first | {"points": first["points"][:1], "runs": 1})
    assert [(one["ranks"], one["runs"]) for one in entries] == [(512, 2), (1024, 3)]
    assert entries[1]["points"][0]["seconds"] == [1.19, 1.23, 1.19, 1.23]
    assert entries[1]["points"][1] == first["points"][1]
    assert entries == profile.read_profile(app)


def test_explanation_names_the_best_plan_what_matters_and_the_surface():
    document = explanation.explain(searched())
    assert document["best"]["plan"]["strategy"] == "brigade"
    assert document["points"][0]["over_best"] == pytest.approx(1)
    assert sum(one["share"] for one in document["effects"]) == pytest.approx(1)
    surface = document["surface"]
    assert surface["strategy"] == "brigade"
    best = document["best"]["plan"]
    cells = {
        (writers, files): seconds
        for files, row in zip(surface["files"], surface["seconds"], strict=True)
        for writers, seconds in zip(surface["writers"], row, strict=True)
    }
    least = min((value, key) for key, value in cells.items() if value is not None)
    assert least[1] == (best["writers"], best["files"])
    assert cells[(1, 2)] is None
    assert [one["name"] for one in document["slices"]] == ["unit_bytes", "alignment_bytes"]
    assert document["probability"] > 0.9


def test_differences_within_the_noise_have_no_cause():
    entry = searched()
    assert "causes" in " ".join(explanation.explain(entry)["sentences"])
    for number, one in enumerate(entry["points"]):
        one["seconds"] = [1.0 + 0.01 * (number % 3), 1.2, 0.9]
    noisy = " ".join(explanation.explain(entry)["sentences"])
    assert "no parameter matters" in noisy and "causes" not in noisy


def test_strategy_with_fixed_writers_has_the_surface_of_all_strategies():
    everything = searched()
    points = everything["points"]
    alone = next(one for one in points if one["plan"]["strategy"] == "file-per-process")
    alone["seconds"] = [0.1] * 5
    document = explanation.explain(everything | {"plan": alone["plan"]})
    assert document["surface"]["strategy"] is None
    assert document["confidence"] == "high"


def test_parameter_with_the_value_0_has_an_effect():
    entry = searched()
    for number, one in enumerate(entry["points"]):
        one["plan"]["stripe_count"] = number % 2
    document = explanation.explain(entry)
    assert "stripe_count" in [one["name"] for one in document["effects"]]


def test_access_has_an_effect_if_some_plans_leave_it_open():
    entry = searched()
    for one in entry["points"][::2]:
        one["plan"] = one["plan"] | {"access": "buffered"}
        one["seconds"] = [2 * seconds for seconds in one["seconds"]]
    effects = {one["name"]: one["values"] for one in explanation.explain(entry)["effects"]}
    assert [one["text"] for one in effects["access"]] == ["by file", "buffered"]


def test_few_points_have_no_surface_and_low_confidence(app):
    entry = profile.read_profile(app)[0]
    document = explanation.explain(entry)
    assert document["surface"] is None and document["effects"] == []
    alone = explanation.explain(entry | {"points": []})
    assert alone["confidence"] == "low"
    assert "reduced-blocking, 128 writers" in alone["sentences"][0]


def test_page_has_all_figures_and_escapes_texts():
    entry = searched() | {"machine": "<script>x</script>"}
    text = tune_page.make_page(explanation.explain(entry))
    for name in tune_page.TEXTS:
        assert f'<section id="{name}">' in text
    assert "<script>x" not in text
    assert "http://" not in re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)


def test_explain_prints_and_selects_ranks(forebay, app, tmp_path):
    profile.add_entry(app, searched())
    completed = forebay("explain", app, "--plot", tmp_path / "a.png", "--html", tmp_path / "a.html")
    assert completed.code == 0, completed.err
    assert "brigade, 4 writers, 2 files, units of 4 MiB" in completed.out
    assert (tmp_path / "a.png").stat().st_size > 1000
    document = forebay("explain", app, "--ranks", 1024, "--json", "-").json
    assert document["entry"]["machine"] == "bigfs"
    wrong = forebay("explain", app, "--ranks", 3)
    assert wrong.code == 2
    assert "no entry for 3 ranks; it has entries for: 1024, 8" in wrong.err


def test_explanation_of_a_profile_without_entries_is_an_error(forebay, app):
    app.write_text("format = 1\n")
    completed = forebay("explain", app)
    assert completed.code == 1
    assert "the profile has no entries; forebay tune -o" in completed.err


class MadeRuns:
    """Runs of a kernel in which each backend has a time; `gain` of the best plan, and the noise of
    rounds as factors."""

    def __init__(self, monkeypatch, gain: float, factors=(1.0,)):
        self.gain = gain
        self.factors = factors
        self.backends: list[str] = []
        monkeypatch.setattr(kernel_run, "run", self.run)
        drawn = {"operations": [{"name": "block", "bytes": [[1 << 20] * 8] * 2}]}
        monkeypatch.setattr(kernel_run, "draw", lambda *_: drawn)
        monkeypatch.setattr(
            kernel_search.metrics, "values_of", lambda one: {"durable_s": one["durable_s"]}
        )

    def seconds(self, backend: str) -> float:
        if "writers" not in backend:
            return 2.0
        plan = plans.plan_of(backend.removeprefix("forebay:"))
        is_best = plan["strategy"] == "gather" and plan["writers"] == 2
        return 2.0 / self.gain if is_best else 4.0

    def run(self, _kernel, settings, _on_progress=None):
        self.backends += settings.backends
        default = "file-per-process,writers=8,files=8,unit_kib=4096,alignment_kib=4,exchange=none"
        runs = [
            {
                "backend": name,
                "round": number,
                "ranks": 8,
                "staging_bytes": 8 << 20,
                "plan": name.partition(":")[2].partition(",memory_mib")[0]
                if "writers" in name
                else default,
                "durable_s": self.seconds(name) * self.factors[number % len(self.factors)],
            }
            for number in range(settings.rounds)
            for name in settings.backends
        ]
        return {"runs": runs, "failures": {}, "error": None}


def tune(kernel, tmp_path, runs=10, **changes) -> dict:
    run_settings = RunSettings((), tmp_path, 8)
    settings = kernel_search.TuneSettings(run_settings, Budget(runs=runs), **changes)
    search = kernel_search.KernelSearch(read_kernel(str(kernel)), settings, lambda _: None)
    (tmp_path / "journal").unlink(missing_ok=True)
    return search.run(tmp_path / "journal", resume=False)


def test_best_plan_is_compared_with_the_default_in_paired_rounds(kernel, tmp_path, monkeypatch):
    MadeRuns(monkeypatch, gain=2.0, factors=(1.0, 1.3))
    document = tune(kernel, tmp_path, runs=40)
    assert document["best"]["plan"]["strategy"] == "gather"
    assert document["chosen"] == "best"
    assert document["gain"]["value"] == pytest.approx(2)
    entry = document["entry"]
    assert entry["points"][0]["plan"] == document["default"]["plan"]
    assert entry["median_s"] == pytest.approx(0.5)  # of a step; the kernel has two
    assert entry["rank_bytes"] == 1 << 20


def test_default_is_kept_if_no_plan_is_reliably_faster(kernel, tmp_path, monkeypatch):
    MadeRuns(monkeypatch, gain=1.0)
    document = tune(kernel, tmp_path)
    assert document["chosen"] == "default"
    assert document["entry"]["plan"] == document["default"]["plan"]


def test_plan_above_the_memory_bound_is_not_usable(kernel, tmp_path, monkeypatch):
    made = MadeRuns(monkeypatch, gain=2.0)
    tune(kernel, tmp_path, memory_bytes=1 << 20)
    assert all("memory_mib=1" in name for name in made.backends)
    with pytest.raises(ForebayError, match="it needs 1 MiB of staging memory a rank"):
        tune(kernel, tmp_path, memory_bytes=(1 << 20) - 1)


def test_model_restricts_and_starts_the_search(kernel, tmp_path, monkeypatch):
    made = MadeRuns(monkeypatch, gain=2.0)

    def predict(_machine, nodes, steps, found):
        assert (nodes, steps) == (2, [[1 << 20] * 8] * 2)
        return [
            {"error": "no room"}
            if one["strategy"] == "baton"
            else {"durable_s": 1.0 + (one["writers"] != 2), "memory_bytes": 1 << one["files"]}
            for one in found
        ]

    monkeypatch.setattr(plans, "predict", predict)
    monkeypatch.setattr(
        plans, "machine_facts", lambda name: {"machine": name, "machine_hash": "7c"}
    )
    document = tune(kernel, tmp_path, machine="bigfs", nodes=2)
    assert "writers=2" in made.backends[0]
    assert not any("baton" in name for name in made.backends)
    assert document["entry"]["machine_hash"] == "7c"
    assert document["entry"]["points"][1]["predicted_s"] in (1.0, 2.0)


def test_memory_bound_is_part_of_the_predicted_plans(kernel, tmp_path, monkeypatch):
    MadeRuns(monkeypatch, gain=2.0)

    def predict(_machine, _nodes, _steps, found):
        assert {one["memory_bytes"] for one in found} == {32 << 20}
        small = {"durable_s": 1.0, "memory_bytes": 32 << 20}
        large = {"durable_s": 1.0, "memory_bytes": 33 << 20}  # raised to the least of the plan
        return [large if one["unit_bytes"] > 4 << 20 else small for one in found]

    monkeypatch.setattr(plans, "predict", predict)
    facts = {"machine": "bigfs", "machine_hash": ""}
    monkeypatch.setattr(plans, "machine_facts", lambda _: facts)
    document = tune(kernel, tmp_path, machine="bigfs", memory_bytes=32 << 20)
    units = [one["plan"]["unit_bytes"] for one in document["entry"]["points"]]
    assert max(units) <= 4 << 20


def test_predictions_are_means_of_steps_or_errors(fake_tools):
    steps = [{"durable_s": 1.0}, {"durable_s": 3.0}]
    found = [{"plan": {}, "memory_bytes": 5, "steps": steps}, {"plan": {}, "error": "no room"}]
    fake_tools(model_steps={"plans": found})
    predicted = plans.predict("bigfs", 1, [[1, 2]], [{}, {}])
    assert predicted == [found[0] | {"durable_s": 2.0}, found[1]]


def test_command_writes_a_profile_that_explain_reads(
    forebay, real_native, real_tools, kernel, tmp_path
):
    real_native(RUNNER)
    file = tmp_path / "app.profile"
    options = ("--storage", tmp_path, "--ranks", 3, "--runs", 6, "--method", "random")
    completed = forebay("tune", kernel, *options, "-o", file, "--json", "-")
    assert completed.code == 0, completed.err
    document = completed.json
    assert document["runs"] == 6
    assert not list(tmp_path.glob("*.journal")) and not list(tmp_path.glob("forebay-kernel-*"))
    entry = profile.read_profile(file)[0]
    assert entry["plan"] == document[document["chosen"]]["plan"]
    assert json.loads(forebay("explain", file, "--json", "-").out)["entry"]["ranks"] == 3


def test_wrong_arguments_are_refused_before_any_run(forebay, kernel, app, tmp_path):
    common = ("tune", kernel, "--storage", tmp_path, "-o", tmp_path / "new.profile")
    assert "--nodes is 9, at most the 8 ranks" in forebay(*common, "--ranks", 8, "--nodes", 9).err
    assert "--memory is 4KiB, at least 1 MiB" in forebay(*common, "--memory", "4KiB").err
    assert "no kernel nothing" in forebay("tune", "nothing", *common[2:]).err
    app.write_text("format = 3")
    assert "format" in forebay(*common[:-1], app).err
