# SPDX-License-Identifier: Apache-2.0
"""The tuner: spaces, methods and the search on made times."""

import importlib.util
import json
import math

import numpy as np
import pytest

from forebay.errors import ForebayError
from forebay.kernel.run import RUNNER
from forebay.tune import plans
from forebay.tune.methods import GaussianProcess, make_method
from forebay.tune.search import FINALISTS, Budget, Journal, Search
from forebay.tune.space import Categorical, LogInteger, Space, powers_of_two

SPACE = Space(
    (
        Categorical("strategy", ("a", "b", "c")),
        LogInteger("writers", powers_of_two(1, 48)),
        LogInteger("files", powers_of_two(1, 48)),
        LogInteger("unit", (1 << 18, 1 << 20, 1 << 22)),
    ),
    (lambda plan: plan["files"] <= plan["writers"],),
)
KERNEL = """
format = 1
name = "blocks"
writers = 3
steps = 2

[[operation]]
name = "block"
do = "write"
size = "64 KiB"
"""


def seconds_of(plan: dict) -> float:
    """The best plan is b with 8 writers, 4 files and 1 MiB."""
    distances = [math.log2(plan["writers"] / 8), math.log2(plan["files"] / 4)]
    distances.append(math.log2(plan["unit"] / 2**20) / 2)
    slower = {"a": 0.5, "b": 0.0, "c": 1.5}[plan["strategy"]]
    return math.exp(slower + 0.3 * sum(one * one for one in distances))


def search(method, measure=seconds_of, runs=40, journal=None, on_trial=lambda *_: None):
    return Search(method, measure, Budget(runs=runs), on_trial).run(journal)


def noisy(seed: int = 0, sigma: float = 0.1):
    noise = np.random.default_rng(seed)
    return lambda plan: seconds_of(plan) * math.exp(noise.normal(0, sigma))


def test_powers_of_two_have_both_ends():
    assert powers_of_two(1, 48) == (1, 2, 4, 8, 16, 32, 48)
    assert powers_of_two(3, 16) == (3, 4, 8, 16)
    assert powers_of_two(1, 1) == (1,)


def test_plans_satisfy_constraints_and_have_features_from_0_to_1():
    assert all(plan["files"] <= plan["writers"] for plan in SPACE.plans)
    assert len(SPACE.plans) == 3 * 28 * 3
    assert SPACE.features.shape == (len(SPACE.plans), 3 + 1 + 1 + 1)
    assert SPACE.features.min() == 0 and SPACE.features.max() == 1
    assert len(np.unique(SPACE.features, axis=0)) == len(SPACE.plans)


def test_nearest_plan_of_a_violated_constraint_is_a_plan():
    plan = {"strategy": "b", "writers": 2, "files": 48, "unit": 1 << 20}
    found = SPACE.plans[SPACE.nearest(plan)]
    assert found["strategy"] == "b" and found["files"] <= found["writers"]


def test_space_without_plans_is_an_error():
    with pytest.raises(ForebayError, match="no plan satisfies the constraints"):
        Space(SPACE.parameters, (lambda _: False,)).plans  # noqa: B018


@pytest.mark.parametrize("ranks", [1, 2, 3, 8, 48])
def test_write_plans_differ_and_name_their_ranks(ranks):
    found = plans.write_space(ranks).plans
    backends = [plans.backend_of(plan) for plan in found]
    assert len(set(backends)) == len(backends)
    assert all(plan["files"] <= plan["writers"] <= ranks for plan in found)
    assert [plans.plan_of(name.removeprefix("forebay:")) for name in backends] == found


def test_every_strategy_of_the_space_runs(forebay, real_native, tmp_path):
    real_native(RUNNER)
    kernel = tmp_path / "blocks.toml"
    kernel.write_text(KERNEL)
    found = np.random.default_rng(1).permutation(plans.write_space(3).plans)
    by_kind = {(plan["strategy"], plan["exchange"]): plan for plan in found}
    assert len(by_kind) == 7
    chosen = [word for plan in by_kind.values() for word in ("--on", plans.backend_of(plan))]
    options = ("--ranks", 3, "--rounds", 1, "--storage", tmp_path, "--json", "-")
    document = forebay("kernel", "run", kernel, *chosen, *options).json
    assert document["failures"] == {}
    for run in document["runs"]:
        assert plans.plan_of(run["plan"]) == plans.plan_of(run["backend"].partition(":")[2])


@pytest.mark.parametrize("name", ["gp", "ridge", "random"])
def test_methods_are_deterministic_and_recommend_a_measured_plan(name):
    outcomes = [search(make_method(name, SPACE, 3), noisy(3), runs=20) for _ in range(2)]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].best in {one.index for one in outcomes[0].trials}


def test_gaussian_process_finds_the_best_of_252_plans_in_30_runs():
    regrets = [
        seconds_of(SPACE.plans[search(GaussianProcess(SPACE, seed), noisy(seed), runs=30).best])
        for seed in range(5)
    ]
    assert np.median(regrets) < 1.1


def test_model_shortens_the_search_and_a_wrong_model_does_not_stop_it():
    right = [seconds_of(plan) ** 1.3 for plan in SPACE.plans]
    outcome = search(GaussianProcess(SPACE, 1, right), noisy(1), runs=10)
    assert seconds_of(SPACE.plans[outcome.best]) < 1.1
    wrong = [1 / seconds_of(plan) for plan in SPACE.plans]
    outcome = search(GaussianProcess(SPACE, 1, wrong), noisy(1), runs=40)
    assert seconds_of(SPACE.plans[outcome.best]) < 1.2


def test_search_stops_when_the_gain_is_below_the_noise():
    few = Space((LogInteger("writers", powers_of_two(1, 512)),))
    noise = np.random.default_rng(2)
    outcome = search(GaussianProcess(few, 1), lambda _: math.exp(noise.normal(0, 0.3)), runs=100)
    assert len(outcome.trials) < 30
    assert outcome.why in (
        "the expected gain of a further run is below the noise",
        "all plans are measured",
    )


def test_failed_plans_are_neither_repeated_nor_recommended():
    def measure(plan):
        if plan["strategy"] == "b":
            raise ForebayError("b is broken")
        return seconds_of(plan)

    outcome = search(GaussianProcess(SPACE, 1), measure, runs=40)
    assert SPACE.plans[outcome.best]["strategy"] == "a"
    failed = [one.index for one in outcome.trials if one.seconds is None]
    assert failed and len(set(failed)) == len(failed)
    assert {one.error for one in outcome.trials if one.seconds is None} == {"b is broken"}


def test_search_without_a_plan_that_works_is_an_error():
    def measure(_):
        raise ForebayError("the storage is full")

    with pytest.raises(ForebayError, match="no plan works: the storage is full"):
        search(GaussianProcess(SPACE, 1), measure)


def test_finalists_are_measured_again_within_the_budget():
    outcome = search(make_method("random", SPACE, 1), noisy(), runs=12)
    assert len(outcome.trials) == 12
    assert outcome.why == "the runs are used up"
    again = [one.index for one in outcome.trials[-FINALISTS:]]
    assert set(again) <= {one.index for one in outcome.trials[:-FINALISTS]}


def test_search_that_was_interrupted_continues_from_its_journal(tmp_path):
    whole = search(GaussianProcess(SPACE, 1), runs=25)
    calls = []

    def interrupted(plan):
        if len(calls) == 10:
            raise KeyboardInterrupt
        calls.append(plan)
        return seconds_of(plan)

    path = tmp_path / "j"
    with pytest.raises(KeyboardInterrupt):
        search(GaussianProcess(SPACE, 1), interrupted, 25, Journal(path, {"a": 1}, resume=False))
    path.write_text(path.read_text() + '{"index": 3, "pl')
    resumed = search(GaussianProcess(SPACE, 1), seconds_of, 25, Journal(path, {"a": 1}, True))
    assert [one.index for one in resumed.trials] == [one.index for one in whole.trials]
    assert resumed.best == whole.best
    assert len(path.read_text().splitlines()) == 1 + 25 + 1


def test_search_that_was_interrupted_in_its_finals_measures_only_the_others(tmp_path):
    path = tmp_path / "j"
    search(GaussianProcess(SPACE, 1), seconds_of, 25, Journal(path, {}, resume=False))
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    calls = []

    def measure(plan):
        calls.append(plan)
        return seconds_of(plan)

    for _ in range(2):
        outcome = search(GaussianProcess(SPACE, 1), measure, 25, Journal(path, {}, resume=True))
        assert calls == [json.loads(lines[-1])["plan"]]
        assert len(outcome.trials) == 25 and outcome.why == "the runs are used up"


def test_time_of_an_interrupted_search_counts(tmp_path):
    path = tmp_path / "j"
    search(make_method("random", SPACE, 1), runs=8, journal=Journal(path, {}, resume=False))
    lines = [json.loads(line) for line in path.read_text().splitlines()[:4]]
    lines[-1]["elapsed_s"] = 50
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    method = make_method("random", SPACE, 1)
    journal = Journal(path, {}, resume=True)
    outcome = Search(method, seconds_of, Budget(seconds=45)).run(journal)
    assert len(outcome.trials) == 3 + FINALISTS and outcome.why == "the time is used up"


def test_journal_of_another_search_is_refused(tmp_path):
    Journal(tmp_path / "j", {"ranks": 4, "seed": 1}, resume=False)
    with pytest.raises(
        ForebayError, match="interrupted; --resume continues it; for a new search, remove .*j, or"
    ):
        Journal(tmp_path / "j", {"ranks": 4, "seed": 1}, resume=False)
    with pytest.raises(ForebayError, match=r"another search \(ranks differ\); repeat its options"):
        Journal(tmp_path / "j", {"ranks": 8, "seed": 1}, resume=True)
    with pytest.raises(ForebayError, match=r"another search \(ranks differ\)"):
        Journal(tmp_path / "j", {"seed": 1}, resume=True)


TRIAL = {"index": 0, "plan": SPACE.plans[0], "seconds": 1.0, "error": "", "elapsed_s": 1.0}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1", "damaged"),
        ("[1]", "damaged"),
        ("7", "damaged"),
        ('{"why": "", "finalists": 1}', "damaged"),
        ('{"why": "", "finalists": [9999]}', "finalists are not in the space"),
        ('{"index": 0}', "damaged"),
        (json.dumps(TRIAL | {"elapsed_s": "1"}), "damaged"),
        (json.dumps(TRIAL | {"seconds": -1.0}), "damaged"),
        (json.dumps(TRIAL | {"seconds": "1"}), "damaged"),
        (json.dumps(TRIAL | {"index": 10**6}), "line 2 has a plan that is not plan 1000000 of"),
        (json.dumps(TRIAL | {"index": -1}), "line 2 has a plan that is not plan -1 of"),
        (json.dumps(TRIAL | {"plan": SPACE.plans[1]}), "line 2 has a plan that is not plan 0 of"),
    ],
)
def test_damaged_journal_names_the_file_to_remove(tmp_path, line, message):
    path = tmp_path / "j"
    for text in (f'{{"format": 1}}\n{line}\n', f"{line}\n"):
        path.write_text(text)
        with pytest.raises(ForebayError, match="j: ") as caught:
            search(make_method("random", SPACE, 1), journal=Journal(path, {}, resume=True))
        assert f"remove {path}, or name another -o" in str(caught.value)
        assert message in str(caught.value) or text.count("\n") == 1


@pytest.mark.parametrize("resume", [True, False])
def test_empty_journal_is_a_new_one(tmp_path, resume):
    path = tmp_path / "j"
    path.write_text("")
    journal = Journal(path, {}, resume)
    assert journal.trials == [] and path.read_text() == '{"format": 1}\n'


def test_optuna_is_optional():
    if importlib.util.find_spec("optuna") is None:
        with pytest.raises(ForebayError, match=r'pip install "forebay\[optuna\]"'):
            make_method("optuna", SPACE, 1)
    else:
        assert search(make_method("optuna", SPACE, 1), runs=10).trials


class MadeTuner:
    """Proposes candidates in order, six times."""

    def __init__(self, features, predicted_s, seed):
        self.count, self.number, self.seconds = len(features), 0, {}

    is_searching = property(lambda self: self.number < 5)
    best = property(lambda self: min(self.seconds, key=self.seconds.get, default=0))

    def next(self):
        return self.number % self.count

    def record(self, candidate, seconds):
        self.seconds[candidate] = seconds
        self.number += 1


def test_in_run_method_proposes_what_the_tuner_proposes(fake_tools):
    fake_tools(Tuner=MadeTuner)
    method = make_method("in-run", SPACE, 1, [1.0] * len(SPACE.plans))
    outcome = search(method, lambda plan: 1.0 + (plan != SPACE.plans[2]), runs=40)
    assert [one.index for one in outcome.trials][:5] == [0, 1, 2, 3, 4]
    assert outcome.best == 2
    assert outcome.why == "the tuner uses its best plan"


def test_real_tuner_finds_the_fastest_candidate(real_tools):
    tuner = real_tools.Tuner([[0.0], [1.0], [2.0]], [2.0, 1.0, 1.0], seed=1)
    assert (tuner.next(), tuner.best) == (0, 0)
    while tuner.is_searching:
        candidate = tuner.next()
        tuner.record(candidate, None if candidate == 2 else 2.0 - candidate)
    assert tuner.best == 1


@pytest.mark.parametrize(
    ("features", "predicted"),
    [([], None), ([[1.0], []], None), ([[1.0]], [0.0]), ([[1.0]], []), ([[1.0]], [float("nan")])],
)
def test_real_tuner_refuses_invalid_candidates(real_tools, features, predicted):
    with pytest.raises(ForebayError, match="tune: "):
        real_tools.Tuner(features, predicted)
    tuner = real_tools.Tuner([[1.0]])
    for candidate, seconds in ((1, 1.0), (0, 0.0), (0, float("inf"))):
        with pytest.raises(ForebayError, match="tune: "):
            tuner.record(candidate, seconds)
