# SPDX-License-Identifier: Apache-2.0
"""Plans for a kernel on a machine that is described, before anything runs there."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean

from forebay import native, step_model
from forebay.errors import EXIT_USAGE, ForebayError
from forebay.kernel import run as kernel_run
from forebay.kernel.kernel_file import Kernel
from forebay.tune.space import powers_of_two

SIMULATED = 12  # plans that are best by formulas, simulated with the bytes of each rank
DRAWN_RANKS_MAX = 64  # all ranks compute alike
MEGABYTE = 1e6
NEAR_BEST = 1.02  # the default of the library is preferred within this factor, as in the library
WITH_AGGREGATORS = ("reduced-blocking", "brigade", "gather")
WITH_SHARED_FILES = ("baton", "collective")


@dataclass(frozen=True)
class Job:
    """A kernel on ranks of a machine."""

    kernel: Kernel
    machine: str  # name or file
    ranks: int
    nodes: int = 0  # 0: by the cores of a node
    method: str = "flow"

    @cached_property
    def compute_s(self) -> float:
        """Seconds of computation before a step, on average."""
        every_rank = [one.model_copy(update={"ranks": "all"}) for one in self.kernel.operations]
        kernel = self.kernel.model_copy(update={"operations": every_rank})
        drawn = kernel_run.draw(kernel, min(self.ranks, DRAWN_RANKS_MAX), 0)["compute_s"]
        return fmean(drawn) if drawn else 0.0

    def request(self, plans: list[dict], method: str) -> dict:
        return {
            "machine": self.machine,
            "ranks": self.ranks,
            "nodes": self.nodes,
            "method": method,
            "kernel": self.kernel.plan(self.ranks),
            "compute_s": self.compute_s,
            "plans": plans,
        }


def candidates(ranks: int, servers: int) -> list[dict]:
    """Plans to compare: the default of the library first, which is an empty plan."""
    plans: list[dict] = [{}, {"strategy": "serial"}, {"strategy": "file-per-process"}]
    for strategy in WITH_SHARED_FILES:
        counts = {*powers_of_two(1, ranks), min(ranks, servers)}
        plans += [{"strategy": strategy, "files": files} for files in sorted(counts)]
    half = max(1, ranks // 2)
    for strategy in WITH_AGGREGATORS:
        for writers in sorted({*powers_of_two(1, half), min(half, servers)}):
            for files in sorted({writers, max(1, writers // 4), 1}):
                plans.append({"strategy": strategy, "writers": writers, "files": files})
    return plans


def plan_job(job: Job, on_progress=None) -> dict:
    """Compares all candidates by formulas, and the best ones with the method of the job.

    Returns {"kernel","machine","ranks","nodes","method","steps","bytes","best","default","plans",
    "refused"}. If the default of the library does not work, "default" is None and "default_error"
    has the cause.
    A plan has "plan", "durable_s" (mean of a step), "perceived_s", "mb_per_s", "memory_bytes",
    "node_memory_bytes", "total_s", "drain_s", "overhead" and "reason". Raises a ForebayError if no
    plan fits the memory of a node.
    """
    if job.nodes > job.ranks:
        raise ForebayError(f"--nodes is {job.nodes}, at most the {job.ranks} ranks", EXIT_USAGE)
    job.kernel.step_writes()
    plans = candidates(job.ranks, step_model.show_machine(job.machine)["summary"]["servers"])
    formula = native.tools().model_steps(job.request(plans, "formula"), on_progress)
    pairs = zip(formula["plans"], plans, strict=True)
    usable = [(one["total_s"], plan) for one, plan in pairs if "error" not in one]
    if not usable:
        raise ForebayError(formula["plans"][0]["error"])
    ordered = [plan for _, plan in sorted(usable, key=lambda pair: pair[0])]
    best_of = {plan.get("strategy"): plan for plan in reversed(ordered)}
    others = [one for one in ordered[:SIMULATED] if one]
    others += [one for one in best_of.values() if one and one not in others]
    request = job.request([{}, *others], job.method)
    document = native.tools().model_steps(request, on_progress)
    by_plan: dict[str, dict] = {}
    for one in document["plans"]:
        if "error" not in one:
            by_plan.setdefault(str(one["plan"]), _summary(one, document["bytes"], job))
    plans = sorted(by_plan.values(), key=lambda one: one["total_s"])
    if not plans:
        raise ForebayError(document["plans"][0]["error"])
    error = document["plans"][0].get("error")
    default = None if error else next(iter(by_plan.values()))
    is_default_near = default and default["total_s"] <= NEAR_BEST * plans[0]["total_s"]
    return {
        "kernel": job.kernel.name,
        "machine": document["machine"],
        "ranks": document["ranks"],
        "nodes": document["nodes"],
        "method": job.method,
        "steps": len(document["bytes"]),
        "bytes": sum(document["bytes"]),
        "best": default if is_default_near else plans[0],
        "default": default,
        "default_error": error,
        "plans": plans,
        "refused": [one["error"] for one in formula["plans"] if "error" in one],
    }


def _summary(one: dict, step_bytes: list[int], job: Job) -> dict:
    durable = sum(step["durable_s"] for step in one["steps"])
    perceived = sum(step["perceived_s"] for step in one["steps"])
    keys = ("plan", "reason", "memory_bytes", "node_memory_bytes", "total_s", "drain_s")
    compute = job.compute_s * len(step_bytes)
    return {key: one[key] for key in keys} | {
        "durable_s": durable / len(step_bytes),
        "perceived_s": perceived / len(step_bytes),
        "mb_per_s": sum(step_bytes) / durable / MEGABYTE,
        "overhead": max(0.0, 1 - compute / one["total_s"]) if one["total_s"] else 0.0,
    }


def write_plan(plan: dict, path: Path) -> None:
    """A plan file for FOREBAY_PLAN. It is written as a whole, or not at all."""
    import tomli_w

    from forebay import atomic_output

    keys = ("strategy", "writers", "files", "exchange", "unit_bytes", "alignment_bytes")
    values = {key: plan["plan"][key] for key in keys if key in plan["plan"]}
    atomic_output.write_text(path, f"# {plan['reason']}\n{tomli_w.dumps(values)}")
