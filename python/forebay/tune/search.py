# SPDX-License-Identifier: Apache-2.0
"""The loop of a search: proposes, measures, records, stops, and measures the finalists again."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NoReturn

from forebay.errors import EXIT_FAILED, EXIT_USAGE, ForebayError
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
    """A file of JSON lines: what is searched, each trial at once, and the end of the exploration. A
    search that was interrupted continues from it."""

    def __init__(self, path: Path, header: dict, resume: bool):
        self.path = path
        self.header = {"format": JOURNAL_FORMAT} | header
        self.trials: list[Trial] = []
        self.why: str | None = None  # the reason for the end of the exploration
        self.finalists: list[int] = []  # then: plans that are still to be measured again
        self.started = time.monotonic()  # as if the time of earlier runs had just passed
        content = path.read_bytes() if path.exists() else b""
        if content and not resume:
            self._refuse("its search was interrupted; --resume continues it", EXIT_USAGE)
        complete = content[: content.rfind(b"\n") + 1]
        if complete:
            self._read(complete)
        if complete != content:  # the last line is from an interrupted write
            os.truncate(path, len(complete))
        if not complete:
            self._append(self.header)

    def _read(self, complete: bytes) -> None:
        try:
            header, *lines = [dict(json.loads(line)) for line in complete.splitlines()]
            self._check_header(header)
            for line in lines:
                if "why" in line:
                    self.why, self.finalists = line["why"], list(line["finalists"])
                    continue
                self.started = time.monotonic() - line.pop("elapsed_s")
                if line["seconds"] is not None and not line["seconds"] > 0:
                    raise ValueError("seconds are above 0")
                self.trials.append(Trial(**line))
                if self.why is not None:
                    self.finalists.remove(line["index"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            self._refuse(f"damaged ({error})")

    def _check_header(self, header: dict) -> None:
        keys = [*self.header, *(key for key in header if key not in self.header)]
        changed = [key for key in keys if header.get(key) != self.header.get(key)]
        if changed:
            what = f"it is of another search ({', '.join(changed)} differ); repeat its options"
            self._refuse(what, EXIT_USAGE)

    def replay(self, plans: list[Plan]) -> list[Trial]:
        """The trials, after a check that they are of these plans."""
        for number, one in enumerate(self.trials, 2):
            if (one.index, one.plan) not in enumerate(plans):
                self._refuse(f"line {number} has a plan that is not plan {one.index} of the space")
        if not all(one in range(len(plans)) for one in self.finalists):
            self._refuse("finalists are not in the space")
        return self.trials

    def _refuse(self, what: str, exit_code: int = EXIT_FAILED) -> NoReturn:
        message = f"journal {self.path}: {what}; for a new search, "
        message += f"remove {self.path}, or name another -o"
        raise ForebayError(message, exit_code) from None

    def _append(self, line: dict) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def add(self, trial: Trial) -> None:
        self.trials.append(trial)
        self._append(asdict(trial) | {"elapsed_s": time.monotonic() - self.started})

    def end_exploration(self, why: str, finalists: list[int]) -> None:
        self._append({"why": why, "finalists": finalists})


Measure = Callable[[Plan], float]


class Search:
    """One search. `measure` returns seconds, and raises a ForebayError for a plan that fails;
    `on_trial` is called after each trial, with it and the best index so far, or None."""

    def __init__(self, method: Method, measure: Measure, budget: Budget, on_trial=lambda *_: None):
        self.method = method
        self.measure = measure
        self.budget = budget
        self.on_trial = on_trial
        self.trials: list[Trial] = []

    def run(self, journal: Journal | None = None) -> Outcome:
        """Blocks until the search has ended. The finalists' runs are part of the budget. Trials of
        the journal count as runs and are not repeated."""
        started = journal.started if journal else time.monotonic()
        for trial in journal.replay(self.method.space.plans) if journal else ():
            self._take(trial)
        why, finalists = (journal.why, journal.finalists) if journal else (None, [])
        if why is None:
            why = self._explore(journal, started + (self.budget.seconds or float("inf")))
            self._check_usable()
            finalists = self.method.ranking()[:FINALISTS]
            if journal is not None:
                journal.end_exploration(why, finalists)
        for index in finalists:
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
