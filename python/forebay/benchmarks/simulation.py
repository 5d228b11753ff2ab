# SPDX-License-Identifier: Apache-2.0
"""`forebay bench sim`: the models beside published tables, and their cost for 300,000 ranks."""

import json
import math

from forebay import agreement, bluegene_study, ckio_study, step_model
from forebay.benchmarks.python_program import run_python
from forebay.benchmarks.rows import Goal, Results, Setup
from forebay.bluegene_study import FITTED, RBIO, TABLE_MACHINE, by_cell, cells_of, request_of
from forebay.kernel.kernel_file import sized_kernel
from forebay.kernel.run import plan_file
from forebay.published import Cell, grid

MEAN, MAX, TAU, PREDICT = "sim.bgp.mean", "sim.bgp.max", "sim.bgp.tau", "sim.bgp.predict"
ORDER, BEST = "sim.bluegene.unfitted", "sim.bluegene.best"
PERCEIVED, CKIO, SECONDS, MEMORY = "sim.perceived", "sim.ckio", "sim.seconds", "sim.mib"
FITS = (MEAN, MAX, TAU, PREDICT)
STUDY = (ORDER, BEST, PERCEIVED)
IDS = (*FITS, *STUDY, CKIO, SECONDS, MEMORY)
TRAINED_WRITERS = 1024
# What is fitted, and where the fit begins: the peak of the description, divided by the writers and
# by the fewest files of several, and stages that overlap halfway.
CONSTANTS = (
    ("sharing", "writer_mb_per_s"),
    ("sharing", "file_mb_per_s"),
    ("storage", "write_mb_per_s"),
    ("storage", "stage_power"),
)
PARTS = (1024, 16, 1)
POWER = 1.5
POWER_MAX = 64
RANKS, STEPS = 300_000, 15
MEAN_BYTES = 1.8e6
# A process of its own, whose memory is that of one simulation and of Python.
SIMULATE = """
import json, resource, sys, time
from forebay import native
request = json.loads(sys.argv[1])
with open(sys.argv[2], encoding="utf-8") as file:
    request["kernel"] = json.load(file)
begin = time.perf_counter()
plans = native.tools().model_steps(request)["plans"]
seconds = time.perf_counter() - begin
memory_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"plans": plans, "seconds": seconds, "memory_kib": memory_kib}))
"""


def simulate(machine: dict, values: list[float], cells: list[Cell]) -> dict[Cell, float]:
    """Actual bandwidths of cells by a machine with these constants."""
    plans = [
        one for one in bluegene_study.plans_of(RBIO) if (one["writers"], one["files"]) in cells
    ]
    with step_model.machine_with(machine, dict(zip(CONSTANTS, values, strict=True))) as path:
        found = cells_of(request_of(path, "bgp", plans), [RBIO] * len(plans))
    return by_cell({"cells": found}, "actual_gb_per_s")


def fit(machine: dict, theirs: dict[Cell, float]) -> list[float]:
    """The constants with the least squares of log(ours / theirs). One call simulates all cells."""
    from scipy.optimize import least_squares

    peak = step_model.read_machine(TABLE_MACHINE)["storage"]["write_mb_per_s"]
    start = [math.log(one) for one in (*(peak / parts for parts in PARTS), POWER)]
    low, high = [-math.inf] * len(PARTS), [math.inf] * len(PARTS)

    def residuals(logarithms):
        ours = simulate(machine, [math.exp(one) for one in logarithms], list(theirs))
        return [math.log(ours[cell] / value) for cell, value in theirs.items()]

    bounds = ([*low, 0], [*high, math.log(POWER_MAX)])
    found = least_squares(residuals, start, bounds=bounds, diff_step=1e-4)
    return [math.exp(one) for one in found.x]


class Bench:
    def __init__(self, results: Results, setup: Setup):
        self.results = results
        self.setup = setup

    def run(self) -> None:
        if any(map(self.results.is_selected, FITS)):
            self.add_fits()
        if any(map(self.results.is_selected, STUDY)):
            self.add_study()
        if self.results.is_selected(CKIO):
            found = ckio_study.report_of(ckio_study.measure())["flat"]
            peers = {
                method: ("1", [found[method]]) for method in (ckio_study.NAIVE, ckio_study.SHARED)
            }
            self.add(CKIO, found[ckio_study.SESSION], Goal(1.25, "lower"), peers)
        if any(map(self.results.is_selected, (SECONDS, MEMORY))):
            self.add_cost()

    def add(self, name: str, value: float, goal: Goal, peers=None, unit: str = "1") -> None:
        if self.results.is_selected(name):
            self.results.add(name, unit, [value], goal, peers)

    def add_fits(self) -> None:
        """The table with all its cells fitted, and one row fitted from the other."""
        machine, theirs = step_model.read_machine(FITTED), grid("bgp_actual")
        values = fit(machine, theirs)
        found = agreement.compare(theirs, simulate(machine, values, list(theirs)))
        is_best = float(found["best_ours"] == found["best_theirs"])
        peers = constants_of(values) | {"best cell is theirs": ("1", [is_best])}
        self.add(MEAN, found["mean_error"], Goal(0.05, "lower"), peers)
        self.add(MAX, found["max_error"], Goal(0.10, "lower"))
        self.add(TAU, found["tau"], Goal(0.9))
        known = {cell: one for cell, one in theirs.items() if cell[0] == TRAINED_WRITERS}
        held_out = {cell: one for cell, one in theirs.items() if cell not in known}
        values = fit(machine, known)
        found = agreement.compare(held_out, simulate(machine, values, list(held_out)))
        self.add(PREDICT, found["mean_error"], Goal(0.10, "lower"), constants_of(values))

    def add_study(self) -> None:
        report = bluegene_study.report_of(bluegene_study.measure(self.setup.on_progress))
        approaches = report["approaches"]
        ordered, pairs = (
            sum(one[key] for one in approaches.values()) for key in ("ordered", "pairs")
        )
        factors = {name: one["factor"] for name, one in approaches.items()}
        self.add(ORDER, ordered / pairs, Goal(1.0), peers_of({"pairs": float(pairs)}))
        self.add(BEST, max(factors.values()), Goal(2.0, "lower"), peers_of(factors))
        self.add(PERCEIVED, report["perceived"]["mean_error"], Goal(0.05, "lower"))

    def add_cost(self) -> None:
        """The model draws the bytes of each rank and step, and simulates their flows."""
        kernel = sized_kernel({"family": "exponential", "mean": MEAN_BYTES}, RANKS, STEPS)
        plan = {"strategy": "reduced-blocking", "writers": 1024, "files": 1024}
        request = {"machine": TABLE_MACHINE, "ranks": RANKS, "method": "flow", "plans": [plan]}
        with plan_file(kernel, RANKS) as plan:
            usage = json.loads(run_python(SIMULATE, json.dumps(request), plan))
        step_model.checked(usage["plans"])
        self.add(SECONDS, usage["seconds"], Goal(5, "lower"), unit="s")
        self.add(MEMORY, usage["memory_kib"] / 1024, Goal(2048, "lower"), unit="MiB")


def peers_of(values: dict[str, float]) -> dict:
    return {name: ("1", [value]) for name, value in values.items()}


def constants_of(values: list[float]) -> dict:
    """Fitted constants as peers of a row."""
    names = (".".join(one) for one in CONSTANTS)
    return peers_of(dict(zip(names, values, strict=True)))
