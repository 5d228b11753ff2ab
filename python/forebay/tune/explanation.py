# SPDX-License-Identifier: Apache-2.0
"""Why an entry of a tuning profile has its plan: pure functions of the entry. A Gaussian process of
the measured plans gives the response surface and the effect of each parameter."""

import math
from statistics import median

import numpy as np

from forebay.report import tune_tables, units
from forebay.tune import plans
from forebay.tune.methods import GaussianProcess, Posterior
from forebay.tune.plans import key_of
from forebay.tune.space import Categorical, LogInteger, Parameter, Plan, Space, powers_of_two

TIMES_MAX = 256  # of all plans, for a surface: its cost grows with the third power
PLANS_MIN = 4  # measured plans, for a surface
AXES = ("writers", "files")
BY = " by "  # between a strategy and an exchange
ACCESS_BY_FILE = "by file"  # of a plan that leaves access open
# Confidence by the runs of the best plan and the probability that it is the faster one.
HIGH = (5, 0.95)
MEDIUM = (2, 0.8)


def explain(entry: dict) -> dict:
    """The document of `forebay explain`.

    Returns {"entry","best","first","points","effects","surface","slices","noise","confidence",
    "probability","sentences"}. "first" is the point that was measured first: the default.
    """
    points = [dict(one) for one in entry["points"]]
    usable = [one for one in points if one["seconds"] and not one["failures"]]
    best = next((one for one in points if one["plan"] == entry["plan"]), None)
    best = best or {"plan": entry["plan"], "seconds": [entry["median_s"]], "failures": 0}
    for one in points:
        one["over_best"] = one["seconds"] and median(one["seconds"]) / median(best["seconds"])
    document = {
        "entry": {key: entry[key] for key in entry if key not in ("points", "plan")},
        "best": best,
        "first": points[0] if points else best,
        "points": sorted(points, key=lambda one: one["over_best"] or math.inf),
        "effects": [],
        "surface": None,
        "slices": [],
        "noise": entry["spread"],
        "probability": None,
    }
    if len(usable) >= PLANS_MIN:
        document |= Surface(entry, usable).document(document["first"]["plan"])
    document["confidence"] = _confidence(document)
    return document | {"sentences": _sentences(document)}


class Surface:
    """The posterior of all plans between the measured ones."""

    def __init__(self, entry: dict, points: list[dict]):
        self.plan = entry["plan"]
        self.space = _space_of(points, entry["ranks"])
        method = GaussianProcess(self.space, seed=0)
        self.index = {key_of(plan): at for at, plan in enumerate(self.space.plans)}
        self.points = points
        newest = max(1, TIMES_MAX // len(points))
        for point in points:
            for seconds in point["seconds"][-newest:]:
                method.tell(self.at(point["plan"]), seconds)
        self.posterior: Posterior = method.posterior()

    def at(self, plan: Plan) -> int | None:
        """The index of a plan of a profile; None if it is not in the space."""
        merged = _merged(plan)
        return self.index.get(
            key_of({one.name: merged.get(one.name) for one in self.space.parameters})
        )

    def document(self, first: Plan) -> dict:
        return {
            "effects": self.effects(),
            "surface": self.writers_and_files(),
            "slices": [
                self.slice(one)
                for one in self.space.parameters
                if isinstance(one, LogInteger) and one.name not in AXES
            ],
            "noise": self.posterior.noise,
            "probability": self.probability(first),
        }

    def effects(self) -> list[dict]:
        """Each parameter with its share of the variance of the main effects, the largest first; its
        values have the mean time of their plans as a factor of the shortest one."""
        found = []
        for one in self.space.parameters:
            means = {
                value: self.posterior.mean[
                    [at for at, plan in enumerate(self.space.plans) if plan[one.name] == value]
                ].mean()
                for value in one.values
                if any(plan[one.name] == value for plan in self.space.plans)
            }
            least = min(means.values())
            values = [
                {"text": value_text(one.name, value), "factor": math.exp(mean - least)}
                for value, mean in sorted(means.items(), key=lambda pair: pair[1])
            ]
            variance = float(np.var([*means.values()]))
            found.append({"name": one.name, "share": variance, "values": values})
        total = sum(one["share"] for one in found) or 1.0
        found = [one | {"share": one["share"] / total} for one in found]
        return sorted(found, key=lambda one: -one["share"])

    def writers_and_files(self) -> dict | None:
        """Seconds by writers and files; null where no plan exists. Of the best strategy, with the
        other values of the best plan; of the fastest plan of each cell, with "strategy" null, if
        that strategy has only one number of writers or files."""
        by_name = {one.name: one for one in self.space.parameters}
        if not all(name in by_name for name in AXES):
            return None
        own = [plan for plan in self.space.plans if self._is_like_best(plan)]
        is_flat = any(len({plan[name] for plan in own}) < 2 for name in AXES)
        shown = self.space.plans if is_flat else own
        cells: dict[tuple, float] = {}
        for plan in shown:
            place = tuple(plan[name] for name in AXES)
            mean = float(self.posterior.mean[self.index[key_of(plan)]])
            cells[place] = min(mean, cells.get(place, math.inf))
        writers, files = (by_name[name].values for name in AXES)
        strategy = _merged(self.plan)["strategy"]
        points = [p for p in self.points if is_flat or _merged(p["plan"])["strategy"] == strategy]
        return {
            "strategy": None if is_flat else strategy,
            "writers": list(writers),
            "files": list(files),
            "seconds": [
                [math.exp(cells[w, f]) if (w, f) in cells else None for w in writers] for f in files
            ],
            "points": [
                {name: one["plan"][name] for name in AXES} | {"seconds": median(one["seconds"])}
                for one in points
            ],
        }

    def _is_like_best(self, plan: Plan) -> bool:
        own = _merged(self.plan)
        return all(own.get(key) == value for key, value in plan.items() if key not in AXES)

    def slice(self, parameter: Parameter) -> dict:
        """Seconds and their range of two deviations, along a parameter from the best plan on."""
        found = [(one, self.at(self.plan | {parameter.name: one})) for one in parameter.values]
        found = [(value, at) for value, at in found if at is not None]
        mean = np.array([self.posterior.mean[at] for _, at in found])
        deviation = np.array([self.posterior.deviation[at] for _, at in found])
        return {
            "name": parameter.name,
            "texts": [value_text(parameter.name, value) for value, _ in found],
            "seconds": np.exp(mean).tolist(),
            "low": np.exp(mean - 2 * deviation).tolist(),
            "high": np.exp(mean + 2 * deviation).tolist(),
        }

    def probability(self, first: Plan) -> float | None:
        """The probability that the best plan is faster than another; None if both are equal."""
        own, other = self.at(self.plan), self.at(first)
        if None in (own, other) or own == other:
            return None
        of = self.posterior
        spread = math.hypot(of.deviation[own], of.deviation[other])
        ratio = (of.mean[other] - of.mean[own]) / max(spread, 1e-9)
        return 0.5 * (1 + math.erf(ratio / math.sqrt(2)))


def _space_of(points: list[dict], ranks: int) -> Space:
    """The parameters that differ between points, with writers and files in powers of two."""
    found = [_merged(one["plan"]) for one in points]
    keys = [key for key in found[0] if all(key in plan for plan in found)]
    keys = [key for key in keys if len({plan[key] for plan in found}) > 1]
    parameters = []
    for key in keys:
        values = sorted({plan[key] for plan in found})
        if key in AXES:
            values = sorted({*values, *powers_of_two(values[0], values[-1])})
        kind = LogInteger if isinstance(values[0], int) and values[0] > 0 else Categorical
        parameters.append(kind(key, tuple(values)))
    measured = {key_of({key: plan[key] for key in keys}) for plan in found}

    def exists(plan: Plan) -> bool:
        whole = found[0] | plan
        strategy = whole["strategy"].partition(BY)[0]
        if strategy in plans.EXCHANGES:
            fits = plans.has_its_shape(whole | {"strategy": strategy}, ranks)
        else:
            fits = whole["files"] <= whole["writers"]
        return fits or key_of(plan) in measured

    return Space(tuple(parameters), (exists,))


def _merged(plan: Plan) -> Plan:
    """A plan whose strategy includes an unusual exchange, and that has the key of access. The
    strategy implies the usual exchange, so the effects of both are not separable."""
    usual = plans.EXCHANGES.get(plan["strategy"], (None,))[0]
    merged = {key: value for key, value in plan.items() if key != "exchange"}
    merged.setdefault("access", ACCESS_BY_FILE)
    if (exchange := plan.get("exchange", usual)) != usual:
        merged["strategy"] += f"{BY}{exchange}"
    return merged


def value_text(name: str, value) -> str:
    if name.endswith("_bytes"):
        return units.size(value)
    return units.count(value) if isinstance(value, int) else str(value)


def _confidence(document: dict) -> str:
    runs, probability = len(document["best"]["seconds"]), document["probability"]
    for word, (runs_min, least) in (("high", HIGH), ("medium", MEDIUM)):
        if runs >= runs_min and (probability is None or probability >= least):
            return word
    return "low"


def _sentences(document: dict) -> list[str]:
    best, first = document["best"], document["first"]
    seconds = tune_tables.seconds_text(best["seconds"])
    found = [f"{tune_tables.plan_text(best['plan'])}: {seconds} a step."]
    if first["plan"] != best["plan"] and first["seconds"]:
        ratio = units.number(first["over_best"])
        text = f"The default, {tune_tables.plan_text(first['plan'])}, takes {ratio} times as long"
        found.append(f"{text}: {tune_tables.seconds_text(first['seconds'])}.")
    elif first["plan"] == best["plan"]:
        found.append("This is the default: no other plan was reliably faster.")
    slowest = max((one["over_best"] or 0 for one in document["points"]), default=0)
    if document["effects"] and slowest - 1 <= document["noise"]:
        found.append("All plans differ by less than the runs of one plan: no parameter matters.")
    elif document["effects"]:
        top = document["effects"][0]
        found.append(f"The parameter {top['name']} causes {top['share']:.0%} of the differences.")
    noise = f"runs of a plan differ by {document['noise']:.0%}"
    runs = units.items(len(best["seconds"]), "run")
    text = f"Confidence: {document['confidence']}; {runs} of the best plan, and {noise}"
    if document["probability"] is not None:
        probability = min(document["probability"], 0.99)  # the surrogate is not surer than that
        text += f"; faster than the default with a probability of {probability:.0%}"
    return [*found, f"{text}."]
