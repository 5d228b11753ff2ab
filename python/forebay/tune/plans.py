# SPDX-License-Identifier: Apache-2.0
"""The space of write plans of Forebay, with the keys of plan files, and what a model predicts."""

from collections.abc import Sequence
from statistics import fmean

from forebay import native, step_model
from forebay.tune.space import Categorical, LogInteger, Plan, Space, powers_of_two

KIBIBYTE = 1 << 10
MEBIBYTE = 1 << 20
UNITS = tuple(KIBIBYTE << power for power in range(8, 17, 2))  # 256 KiB to 64 MiB
ALIGNMENTS = (4 * KIBIBYTE, MEBIBYTE)
COUNTS = ("writers", "files", "stripe_count", "steps_in_flight")  # options of the same name
# Exchanges of each strategy, the usual one first. In "none", all ranks write.
EXCHANGES = {
    "file-per-process": ("none",),
    "baton": ("none",),
    "collective": ("none",),
    "reduced-blocking": ("shared-memory", "message"),
    "brigade": ("brigade",),
    "gather": ("gather",),
}


def write_space(ranks: int) -> Space:
    """Plans that `ranks` can have. A value without effect is not varied, so all plans differ."""
    names = tuple(dict.fromkeys(one for found in EXCHANGES.values() for one in found))
    side = powers_of_two(1, ranks)
    return Space(
        (
            Categorical("strategy", tuple(EXCHANGES)),
            LogInteger("writers", side),
            LogInteger("files", side),
            LogInteger("unit_bytes", UNITS),
            LogInteger("alignment_bytes", ALIGNMENTS),
            Categorical("exchange", names),
        ),
        (_has_its_exchange, lambda plan: has_its_shape(plan, ranks), _has_its_alignment),
    )


def _has_its_exchange(plan: Plan) -> bool:
    return plan["exchange"] in EXCHANGES[plan["strategy"]]


def has_its_shape(plan: Plan, ranks: int) -> bool:
    """Whether the strategy can have these writers and files."""
    writers, files = plan["writers"], plan["files"]
    if plan["strategy"] == "file-per-process":
        return files == writers == ranks
    if EXCHANGES[plan["strategy"]] == ("none",):
        return files < writers == ranks
    return files <= writers < ranks


def _has_its_alignment(plan: Plan) -> bool:
    """Alignment matters if writers share a file. A unit is a multiple of it."""
    if plan["files"] == plan["writers"]:
        return plan["alignment_bytes"] == ALIGNMENTS[0]
    return plan["alignment_bytes"] <= plan["unit_bytes"]


def backend_of(plan: Plan, memory_mib: int | None = None) -> str:
    """The backend of `forebay kernel run` that writes with a plan; an empty plan is the default."""
    words = [plan["strategy"]] if plan else []
    words += [f"{key}={plan[key]}" for key in COUNTS if key in plan]
    for key in ("unit", "alignment"):
        if f"{key}_bytes" in plan:
            words.append(f"{key}_kib={plan[f'{key}_bytes'] // KIBIBYTE}")
    words += [f"exchange={plan['exchange']}"] if "exchange" in plan else []
    words += [f"memory_mib={memory_mib}"] if memory_mib is not None else []
    return "forebay:" + ",".join(words) if words else "forebay"


def key_of(plan: Plan) -> tuple:
    """Hashable; equal for equal plans."""
    return tuple(sorted(plan.items()))


def plan_of(options: str) -> Plan:
    """The plan that a run reports as options of its backend."""
    strategy, *words = options.split(",")
    plan: Plan = {"strategy": strategy}
    for key, _, value in (word.partition("=") for word in words):
        if key.endswith("_kib"):
            plan[key.replace("_kib", "_bytes")] = int(value) * KIBIBYTE
        else:
            plan[key] = int(value) if value.isdigit() else value
    return plan


def machine_facts(machine: str | None) -> dict:
    """{"machine","machine_hash"} of a profile, of a machine by its name or file."""
    if machine is None:
        return {"machine": "", "machine_hash": ""}
    document = step_model.show_machine(machine)
    return {"machine": document["name"], "machine_hash": document.get("numbers_hash", "")}


def predict(machine: str, nodes: int, steps: list[list[int]], plans: Sequence[Plan]) -> list[dict]:
    """What the model computes for each plan, with "durable_s", the mean of a step, or "error".
    `steps` has the bytes of each rank."""
    request = {
        "machine": machine,
        "ranks": len(steps[0]),
        "nodes": nodes,
        "steps": steps,
        "method": "formula",
        "plans": list(plans),
    }
    found = native.tools().model_steps(request)["plans"]
    return [
        one if "error" in one else one | {"durable_s": fmean(s["durable_s"] for s in one["steps"])}
        for one in found
    ]
