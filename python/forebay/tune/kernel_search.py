# SPDX-License-Identifier: Apache-2.0
"""The search of `forebay tune`: a kernel on a storage takes the place of the application."""

import math
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, pstdev

from forebay.errors import ForebayError
from forebay.kernel import metrics
from forebay.kernel import run as kernel_run
from forebay.kernel.kernel_file import Kernel
from forebay.native import OnProgress, Progress
from forebay.report import units
from forebay.tune import plans, profile
from forebay.tune.methods import Method, make_method
from forebay.tune.search import Budget, Journal, Outcome, Search, Trial
from forebay.tune.space import Plan, Space

FINAL_ROUNDS = 5
METRIC = "durable_s"


@dataclass(frozen=True)
class TuneSettings:
    """What is searched, and how. `run` has the storage, the ranks and their launcher."""

    run: kernel_run.RunSettings
    budget: Budget
    nodes: int = 1
    method: str = "gp"
    machine: str | None = None
    memory_bytes: int | None = None  # staging of a rank
    seed: int = 1


class KernelSearch:
    """One search; the files of its runs are removed."""

    def __init__(self, kernel: Kernel, settings: TuneSettings, on_progress: OnProgress):
        self.kernel = kernel
        self.settings = settings
        self.on_progress = on_progress
        self.tried = 0
        self.machine = plans.machine_facts(settings.machine)
        self.steps = kernel_run.step_bytes(kernel, settings.run.ranks)
        self.space, self.predicted = self._space()

    def run(self, journal_path: Path, resume: bool) -> dict:
        """The document of a search. Blocks for as long as all runs take."""
        settings = self.settings
        method = make_method(settings.method, self.space, settings.seed, self.predicted)
        journal = Journal(journal_path, self._header(), resume)
        search = Search(method, self.measure, settings.budget, self._report)
        outcome = search.run(journal)
        plan = self.space.plans[outcome.best]
        return self._document(method, outcome, self._final_rounds(plan))

    def measure(self, plan: Plan) -> float:
        """The seconds until a step is durable, the mean of the steps of one run. A run before it is
        discarded, as in the final rounds: it has the costs of first use."""
        run_settings = replace(self.settings.run, backends=(self._backend(plan),), rounds=1)
        document = kernel_run.run(self.kernel, run_settings)
        cause = next(iter(document["failures"].values()), document["error"])
        if cause:
            raise ForebayError(cause)
        self._check_memory(document["runs"][0])
        return self._seconds(document["runs"][0])

    def _space(self) -> tuple[Space, list[float] | None]:
        """The space, without plans that the model refuses, and the predicted seconds."""
        settings = self.settings
        space = plans.write_space(settings.run.ranks)
        if settings.machine is None:
            return space, None
        limit = settings.memory_bytes or math.inf
        bound = {"memory_bytes": limit} if settings.memory_bytes else {}
        requested = [plan | bound for plan in space.plans]
        found = plans.predict(settings.machine, settings.nodes, self.steps, requested)
        predicted = {
            plans.backend_of(plan): one["durable_s"]
            for plan, one in zip(space.plans, found, strict=True)
            if "error" not in one and one["memory_bytes"] <= limit
        }
        if not predicted:
            cause = next((one["error"] for one in found if "error" in one), "--memory is too small")
            raise ForebayError(f"tune {self.kernel.name}: no plan fits: {cause}")
        fits = (lambda plan: plans.backend_of(plan) in predicted,)
        return Space(space.parameters, (*space.constraints, *fits)), list(predicted.values())

    def _backend(self, plan: Plan) -> str:
        memory = self.settings.memory_bytes
        return plans.backend_of(plan, None if memory is None else memory // plans.MEBIBYTE)

    def _seconds(self, run: dict) -> float:
        return metrics.values_of(run)[METRIC] / self.kernel.steps

    def _check_memory(self, run: dict) -> None:
        """A run reports the staging of all ranks. A plan may raise a bound that is too small."""
        limit = self.settings.memory_bytes
        if limit is not None and run["staging_bytes"] > limit * run["ranks"]:
            used = units.size(run["staging_bytes"] / run["ranks"])
            raise ForebayError(f"it needs {used} of staging memory a rank; the bound is lower")

    def _report(self, _trial: Trial, best: int | None) -> None:
        self.tried += 1
        what = f"searching {self.kernel.name}"
        if best is not None:
            what = f"best so far: {plans.backend_of(self.space.plans[best])}"
        self.on_progress(Progress(self.tried, self.settings.budget.runs or 0, "runs", what))

    def _header(self) -> dict:
        keys = ("nodes", "machine", "memory_bytes", "method", "seed")
        return {key: getattr(self.settings, key) for key in keys} | {
            "kernel": self.kernel.model_dump(mode="json", by_alias=True),
            "ranks": self.settings.run.ranks,
            "storage": str(self.settings.run.storage),
            "launcher": self.settings.run.launcher,
            "machine_hash": self.machine["machine_hash"],
        }

    def _final_rounds(self, plan: Plan) -> dict[str, dict]:
        """Paired rounds of the best plan and of the default: {"best","default"} with the plan and
        the seconds of each round."""
        names = {"default": self._backend({}), "best": self._backend(plan)}
        settings = replace(
            self.settings.run, backends=tuple(names.values()), rounds=FINAL_ROUNDS, warm_ups=1
        )
        document = kernel_run.run(self.kernel, settings, self.on_progress)
        cause = document["error"] or next(iter(document["failures"].values()), None)
        if cause:
            raise ForebayError(f"compare with the default: {cause}")
        of = {
            key: [one for one in document["runs"] if one["backend"] == name]
            for key, name in names.items()
        }
        return {
            key: {
                "plan": plans.plan_of(found[0]["plan"]),
                "seconds": [self._seconds(one) for one in sorted(found, key=lambda o: o["round"])],
            }
            for key, found in of.items()
        }

    def _document(self, method: Method, outcome: Outcome, final: dict) -> dict:
        """`gain`: default / best in each round. The default is kept if they include 1 or less."""
        pairs = zip(final["default"]["seconds"], final["best"]["seconds"], strict=True)
        gain = metrics.summary([default / best for default, best in pairs])
        chosen = "best" if gain["spread"][0] > 1 else "default"
        found = [value for step in self.steps for value in step]
        rank_bytes = max(1, round(sum(found) / len(found)))
        return {
            "kernel": self.kernel.name,
            "ranks": self.settings.run.ranks,
            "nodes": self.settings.nodes,
            "storage": str(self.settings.run.storage),
            "method": self.settings.method,
            "plans": len(self.space.plans),
            "runs": len(outcome.trials),
            "failed_runs": sum(one.seconds is None for one in outcome.trials),
            "why": outcome.why,
            "best": final["best"],
            "default": final["default"],
            "gain": gain,
            "chosen": chosen,
            "entry": self._entry(outcome, final, chosen, rank_bytes),
        }

    def _entry(self, outcome: Outcome, final: dict, chosen: str, rank_bytes: int) -> dict:
        seconds = final[chosen]["seconds"]
        largest = max(max(step) for step in self.steps)
        return self.machine | {
            "ranks": self.settings.run.ranks,
            "nodes": self.settings.nodes,
            "rank_bytes": rank_bytes,
            "imbalance": max(1.0, largest / rank_bytes),
            "median_s": median(seconds),
            "spread": pstdev(map(math.log, seconds)),
            "runs": 1,
            "plan": final[chosen]["plan"],
            "points": self._points(outcome, final),
        }

    def _points(self, outcome: Outcome, final: dict) -> list[dict]:
        """The default is the first point. The best plan has the times of the search, too."""
        seconds, failures = defaultdict(list), defaultdict(int)
        for trial in outcome.trials:
            if trial.seconds is None:
                failures[trial.index] += 1
            else:
                seconds[trial.index].append(trial.seconds)
        seconds[outcome.best] += final["best"]["seconds"]
        points = {plans.backend_of(final["default"]["plan"]): final["default"] | {"failures": 0}}
        for index in dict.fromkeys(one.index for one in outcome.trials):
            plan = self.space.plans[index]
            known = points.get(plans.backend_of(plan), {"seconds": []})["seconds"]
            point = {"plan": plan, "seconds": known + seconds[index], "failures": failures[index]}
            if self.predicted is not None:
                point["predicted_s"] = self.predicted[index]
            points[plans.backend_of(plan)] = point
        return [*points.values()][: profile.POINTS_MAX]
