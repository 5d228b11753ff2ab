# SPDX-License-Identifier: Apache-2.0
"""`forebay bench tune`: how many runs a search needs.

Evaluations are the runs until the recommendation is truly within 10 % of the best plan and stays
there until the method stops or the budget is used up. The runs that measure finalists again count.
A search that ends elsewhere needs infinitely many. A row has the machine with the worst median, and
its hit share is that of the machine with the worst share.
"""

import math
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing import get_context
from statistics import median

import numpy as np

from forebay import native
from forebay.benchmarks import synthetic_machines as synthetic
from forebay.benchmarks.rows import Goal, Results, Setup
from forebay.errors import ForebayError, NativeError
from forebay.tune.methods import make_method
from forebay.tune.search import Budget, Search

WITHIN = 1.10
NOISE_SIGMA = 0.15  # of the logarithm of a time
SEEDS = {"quick": 5, "usual": 20, "full": 60}
RUNS = {True: 40, False: 60}  # with a model, and without
PROCESSES_MAX = 2
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
EVALUATIONS_GOALS = {"model": 15, "unmodeled": 35}
HIT_GOAL = 0.8
# Of each row: {peer: (method, kind of the model)}; the first one is the value.
SEARCHES = {
    "model": {
        "constants off by 40 %": ("gp", "inexact"),
        "exact constants": ("gp", "exact"),
        "of another form": ("gp", "incomplete"),
        "in-run, constants off by 40 %": ("in-run", "inexact"),
    },
    "unmodeled": {
        "gp": ("gp", None),
        "ridge": ("ridge", None),
        "optuna": ("optuna", None),
        "random": ("random", None),
    },
}
NATIVE_IDS = ("auto.choose_us",)
IDS = tuple(f"tune.synthetic.{row}{end}" for row in SEARCHES for end in ("", ".hits"))


@dataclass(frozen=True)
class Case:
    """One search on a synthetic machine."""

    machine: synthetic.Machine
    method: str
    model: str | None
    seed: int


@dataclass(frozen=True)
class Answer:
    evaluations: float  # infinite: the search ended elsewhere
    runs: int
    regret: float  # time of the recommendation / best time


def model_of(case: Case) -> synthetic.Machine | None:
    """The machine as the model of a search describes it."""
    if case.model == "inexact":
        return case.machine.with_inexact_constants(np.random.default_rng([case.seed, 1]))
    if case.model == "incomplete":
        return case.machine.without_contention()
    return case.machine if case.model == "exact" else None


def search(case: Case) -> Answer:
    """Runs a search. Pure: equal cases have equal answers."""
    space = synthetic.space()
    truth = np.array([case.machine.seconds(plan) for plan in space.plans])
    model = model_of(case)
    predicted = None if model is None else [model.seconds(plan) for plan in space.plans]
    noise = np.random.default_rng([case.seed, 2])
    regrets: list[float] = []
    try:
        Search(
            make_method(case.method, space, case.seed, predicted),
            lambda plan: case.machine.seconds(plan) * math.exp(noise.normal(0, NOISE_SIGMA)),
            Budget(runs=RUNS[model is not None]),
            lambda _, best: regrets.append(float(truth[best] / truth.min())),
        ).run()
    except NativeError as failed:  # which cannot be sent to another process
        raise ForebayError(str(failed)) from None
    return Answer(evaluations(regrets), len(regrets), regrets[-1])


def evaluations(regrets: list[float]) -> float:
    """The number of the first run from which on all recommendations are within the goal."""
    wrong = [number for number, regret in enumerate(regrets, 1) if regret > WITHIN]
    last = wrong[-1] if wrong else 0
    return last + 1 if last < len(regrets) else math.inf


class Bench:
    def __init__(self, results: Results, setup: Setup):
        self.results = results
        self.seeds = range(SEEDS[setup.effort])
        self.on_progress = setup.on_progress

    def run(self) -> None:
        for name, value in dict.fromkeys(THREAD_VARIABLES, "1").items():
            os.environ.setdefault(name, value)  # of the processes; small matrices gain nothing
        for row, searches in SEARCHES.items():
            name = f"tune.synthetic.{row}"
            if self.results.is_selected(name) or self.results.is_selected(f"{name}.hits"):
                self.add(row, searches)
        self.results.parameters |= {
            "seeds": len(self.seeds),
            "noise_sigma": NOISE_SIGMA,
            "constant_sigma": synthetic.CONSTANT_SIGMA,
            "truth": {one.name: asdict(one.constants) for one in synthetic.MACHINES},
            "inexact": {one.name: self.constants_of(one) for one in synthetic.MACHINES},
        }

    def constants_of(self, machine: synthetic.Machine) -> list[dict]:
        """The constants of the inexact model, for each seed."""
        cases = [Case(machine, "gp", "inexact", seed) for seed in self.seeds]
        return [asdict(model_of(case).constants) for case in cases]

    def add(self, row: str, searches: dict) -> None:
        worst: dict[str, list[float]] = {}
        hits: dict[str, float] = {}
        details = {}
        for label, (method, model) in searches.items():
            name = f"tune.synthetic.{row}, {label}"
            try:
                found = self.answers(name, partial(Case, method=method, model=model))
            except ForebayError as missing:
                if not worst:
                    raise
                self.results.skip(name, str(missing))
                continue
            runs = RUNS[model is not None]
            values = {at: [one.evaluations for one in of] for at, of in found.items()}
            worst[label] = finite(max(values.values(), key=median), runs)
            hits[label] = min(np.isfinite(of).mean() for of in values.values())
            details[label] = {
                at: {"evaluations": finite(of, runs), "regret": [one.regret for one in found[at]]}
                for at, of in values.items()
            }
        self.results.parameters |= {row: details}
        self.add_rows(f"tune.synthetic.{row}", EVALUATIONS_GOALS[row], worst, hits)

    def add_rows(self, name: str, goal: float, worst: dict, hits: dict) -> None:
        own = next(iter(worst))
        if self.results.is_selected(name):
            peers = {label: ("runs", of) for label, of in worst.items() if label != own}
            self.results.add(name, "runs", worst[own], Goal(goal, "lower"), peers)
        if self.results.is_selected(f"{name}.hits"):
            peers = {label: ("1", [share]) for label, share in hits.items() if label != own}
            self.results.add(f"{name}.hits", "1", [hits[own]], Goal(HIT_GOAL), peers)

    def answers(self, name: str, case: partial) -> dict[str, list[Answer]]:
        """The answers by machine, one for each seed."""
        cases = [case(machine=one, seed=seed) for one in synthetic.MACHINES for seed in self.seeds]
        found: dict[str, list[Answer]] = {}
        workers = min(PROCESSES_MAX, os.cpu_count() or 1)
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            for done, (one, answer) in enumerate(
                zip(cases, pool.map(search, cases), strict=True), 1
            ):
                found.setdefault(one.machine.name, []).append(answer)
                self.on_progress(native.Progress(done, len(cases), "searches", name))
        return found


def finite(values: list[float], runs: int) -> list[float]:
    """Numbers that a table and JSON can hold: a search without success counts one run more than its
    budget, which keeps a median that is in the budget."""
    return [min(one, runs + 1) for one in values]
