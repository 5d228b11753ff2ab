# SPDX-License-Identifier: Apache-2.0
"""The loop of a search: proposes, measures, records, stops, and measures the finalists again."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from forebay.errors import EXIT_USAGE, ForebayError
from forebay.tune.methods import Method
from forebay.tune.space import Plan

FINALISTS = 3
FAILURES_MAX = 5  # one after the other, before any plan has worked
JOURNAL_FORMAT = 1


@dataclass(frozen=True)
class Budget:
    """Limits of a search. At least one is set."""

    runs: int | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Trial:
    """A measured plan. `seconds` is None if it failed, with the cause in `error`."""

    index: int  # in the space
    plan: Plan
    seconds: float | None
    error: str = ""


@dataclass
class Outcome:
    """`best`: the index of the recommended plan. `why`: the reason for the end of the search."""

    best: int
    why: str
    trials: list[Trial] = field(default_factory=list)


class Journal:
    """A file of JSON lines: what is searched, and then each trial at once. A search that was
    interrupted continues from it."""

    def __init__(self, path: Path, header: dict, resume: bool):
        self.path = path
        self.header = {"format": JOURNAL_FORMAT} | header
        self.trials: list[Trial] = []
        if resume and path.exists():
            self._read()
            return
        if path.exists():
            message = f"{path} is of a search that was interrupted; continue it with --resume, or"
            raise ForebayError(f"{message} remove the file", EXIT_USAGE)
        path.write_text(json.dumps(self.header) + "\n", encoding="utf-8")

    def _read(self) -> None:
        """A last line that is incomplete is from an interrupted write, and is removed."""
        text = self.path.read_text(encoding="utf-8", errors="replace")
        complete = text[: text.rfind("\n") + 1]
        try:
            header, *lines = map(json.loads, complete.splitlines())
            self.trials = [Trial(**line) for line in lines]
        except (ValueError, TypeError) as error:
            message = f"read {self.path}: {error}; remove it, or search without --resume"
            raise ForebayError(message) from None
        if header != self.header:
            changed = [key for key in self.header if header.get(key) != self.header[key]]
            message = f"resume {self.path}: it is of another search ({', '.join(changed)} differ)"
            raise ForebayError(f"{message}; repeat its options, or leave out --resume", EXIT_USAGE)
        if complete != text:
            os.truncate(self.path, len(complete.encode()))

    def add(self, trial: Trial) -> None:
        self.trials.append(trial)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(trial)) + "\n")


Measure = Callable[[Plan], float]
OnTrial = Callable[[Trial, int | None], None]  # with the best index so far


class Search:
    """One search. `measure` returns seconds, and raises a ForebayError for a plan that fails;
    `on_trial` is called after each trial."""

    def __init__(self, method: Method, measure: Measure, budget: Budget, on_trial: OnTrial):
        self.method = method
        self.measure = measure
        self.budget = budget
        self.on_trial = on_trial
        self.trials: list[Trial] = []

    def run(self, journal: Journal | None = None) -> Outcome:
        """Blocks until the search has ended. The finalists' runs are part of the budget. Trials of
        the journal count as runs and are not repeated."""
        deadline = time.monotonic() + (self.budget.seconds or float("inf"))
        for trial in journal.trials if journal else ():
            self._take(trial)
        why = self._explore(journal, deadline)
        self._check_usable()
        for index in self.method.ranking()[:FINALISTS]:
            self._try(index, journal)
        self._check_usable()
        return Outcome(self.method.ranking()[0], why, self.trials)

    def _explore(self, journal: Journal | None, deadline: float) -> str:
        runs_max = (self.budget.runs or 10**9) - FINALISTS
        while len(self.trials) < runs_max:
            if time.monotonic() >= deadline:
                return "the time is used up"
            index = self.method.ask()
            if index is None:
                return self.method.why
            self._try(index, journal)
            if len(self.trials) >= FAILURES_MAX and not self.method.seen.indices:
                raise ForebayError(f"no plan works: {self.trials[-1].error}")
        return "the runs are used up"

    def _try(self, index: int, journal: Journal | None) -> None:
        plan = self.method.space.plans[index]
        try:
            trial = Trial(index, plan, self.measure(plan))
        except ForebayError as failed:
            trial = Trial(index, plan, None, str(failed))
        if journal is not None:
            journal.add(trial)
        self._take(trial)

    def _take(self, trial: Trial) -> None:
        self.trials.append(trial)
        self.method.tell(trial.index, trial.seconds)
        ranking = self.method.ranking()
        self.on_trial(trial, ranking[0] if ranking else None)

    def _check_usable(self) -> None:
        if not self.method.seen.usable():
            error = next((one.error for one in self.trials if one.error), "no run was made")
            raise ForebayError(f"no plan works: {error}")
