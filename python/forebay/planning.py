# SPDX-License-Identifier: Apache-2.0
"""Plans for a kernel on a machine that is described, before anything runs there."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean

from forebay import native, step_model
from forebay.errors import ForebayError
from forebay.kernel import run as kernel_run
from forebay.kernel.kernel_file import Kernel

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
        drawn = kernel_run.draw(self.kernel, min(self.ranks, DRAWN_RANKS_MAX), 0)["compute_s"]
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


def counts_to(most: int, *also: int) -> list[int]:
    """The powers of two up to `most`, and these numbers if they are not larger."""
    powers = (1 << power for power in range(most.bit_length()))
    return sorted({most, *(one for one in (*powers, *also) if 0 < one <= most)})


def candidates(ranks: int, servers: int) -> list[dict]:
    """Plans to compare: the default of the library first, which is an empty plan."""
    plans: list[dict] = [{}, {"strategy": "serial"}, {"strategy": "file-per-process"}]
    for strategy in WITH_SHARED_FILES:
        plans += [{"strategy": strategy, "files": files} for files in counts_to(ranks, servers)]
    for strategy in WITH_AGGREGATORS:
        for writers in counts_to(max(1, ranks // 2), servers):
            for files in sorted({writers, max(1, writers // 4), 1}):
                plans.append({"strategy": strategy, "writers": writers, "files": files})
    return plans


def plan_job(job: Job, on_progress=None) -> dict:
    """Compares all candidates by formulas, and the best ones with the method of the job.

    Returns {"kernel","machine","ranks","nodes","method","steps","bytes","best","default","plans",
    "refused"}.
    A plan has "plan", "durable_s" (mean of a step), "perceived_s", "mb_per_s", "memory_bytes",
    "node_memory_bytes", "total_s", "drain_s", "overhead" and "reason". Raises a ForebayError if no
    plan fits the memory of a node.
    """
    summary = native.run_program("forebay-machine", ["show", job.machine]).document["summary"]
    plans = candidates(job.ranks, summary["servers"])
    formula = step_model.run_model("steps", job.request(plans, "formula"), on_progress).document
    usable = [
        (one["total_s"], number)
        for number, one in enumerate(formula["plans"])
        if "error" not in one
    ]
    if not usable:
        raise ForebayError(formula["plans"][0]["error"])
    chosen = [plans[number] for _, number in sorted(usable)[:SIMULATED]]
    chosen += [_fastest(plans, usable, strategy) for strategy in _strategies(plans)]
    unique = [{}, *(one for at, one in enumerate(chosen) if one and one not in chosen[:at])]
    document = step_model.run_model("steps", job.request(unique, job.method), on_progress).document
    default, *others = [
        _summary(one, document["bytes"], job) for one in document["plans"] if "error" not in one
    ]
    plans = [default, *(one for one in others if one["plan"] != default["plan"])]
    fastest = min(plans, key=lambda one: one["total_s"])
    is_default_near = default["total_s"] <= NEAR_BEST * fastest["total_s"]
    return {
        "kernel": job.kernel.name,
        "machine": document["machine"],
        "ranks": document["ranks"],
        "nodes": document["nodes"],
        "method": job.method,
        "steps": len(document["bytes"]),
        "bytes": sum(document["bytes"]),
        "best": default if is_default_near else fastest,
        "default": default,
        "plans": sorted(plans, key=lambda one: one["total_s"]),
        "refused": [one["error"] for one in formula["plans"] if "error" in one],
    }


def _strategies(plans: list[dict]) -> list[str]:
    return list(dict.fromkeys(one["strategy"] for one in plans if one))


def _fastest(plans: list[dict], usable: list[tuple], strategy: str) -> dict:
    """Of this strategy by formulas; none if no plan of it is usable."""
    own = [(total, at) for total, at in usable if plans[at].get("strategy") == strategy]
    return plans[min(own)[1]] if own else {}


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

    from forebay.atomic_output import atomic_write

    keys = ("strategy", "writers", "files", "exchange", "unit_bytes", "alignment_bytes")
    values = {key: plan["plan"][key] for key in keys if key in plan["plan"]}
    with atomic_write(path) as temporary:
        temporary.write_text(f"# {plan['reason']}\n{tomli_w.dumps(values)}", encoding="utf-8")
