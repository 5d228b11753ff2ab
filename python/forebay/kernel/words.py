# SPDX-License-Identifier: Apache-2.0
"""A kernel in words, and the document of `forebay kernel show`."""

from forebay.kernel.distribution import Constant, Exponential, Mixture, Table, Uniform, Walkers
from forebay.kernel.kernel_file import Kernel, Operation
from forebay.report import units


def describe(kernel: Kernel, ranks: int, drawn: dict) -> dict:
    """What a kernel does, with what it draws (forebay.kernel.run.draw)."""
    return {
        "kernel": {
            "name": kernel.name,
            "about": kernel.about,
            "source": kernel.source,
            "writers": ranks,
            "steps": kernel.steps,
        },
        "numbers": kernel.count_numbers(),
        "compute_s": drawn["compute_s"],
        "operations": [
            _operation(one, draws)
            for one, draws in zip(kernel.operations, drawn["operations"], strict=True)
        ],
    }


def _operation(operation: Operation, drawn: dict) -> dict:
    steps = drawn["bytes"]
    calls = [count for step in drawn["calls"] for count in step]
    return {
        "name": operation.name,
        "words": words_of(operation),
        "calls": round(sum(calls) / len(calls), 2) if calls else 0,
        "sizes": drawn["sizes"],
        "rank_bytes": [one for step in steps for one in step],
        "bytes": steps,
        "step_bytes": sum(map(sum, steps)) / len(steps) if steps else 0,
    }


def words_of(operation: Operation) -> str:
    """ "writes, normal sizes, in each step"."""
    parts = [f"reads {operation.source}" if operation.do == "read" else "writes"]
    if operation.offsets is not None:
        parts.append("strided")
    elif operation.size is not None:
        parts.append(_sizes(operation.size))
    if operation.ranks != "all":
        parts.append(f"on ranks {operation.ranks}")
    parts.append(_when(operation))
    return ", ".join(parts)


def _when(operation: Operation) -> str:
    if operation.when == "each":
        return "in each step" if operation.every == 1 else f"every {operation.every} steps"
    texts = {"before": "before the first step", "first": "in the first step"}
    return texts.get(operation.when, "in the last step")


def _sizes(size) -> str:
    match size:
        case Constant():
            return f"{units.size(size.value)} a call"
        case Uniform():
            return f"uniform sizes, {units.size(size.low)} to {units.size(size.high)}"
        case Exponential():
            return f"exponential sizes, {units.size(size.mean)} on average"
        case Walkers():
            return f"{size.walkers:g} walkers of {units.size(size.bytes)}, branching"
        case Table():
            return f"{len(size.values)} sizes"
        case Mixture():
            return f"sizes of {len(size.parts)} kinds"
        case _ if hasattr(size, "mean"):
            mean, deviation = units.size(size.mean), units.size(size.deviation)
            return f"{size.family} sizes, {mean} ± {deviation}"
        case _:
            return f"{size.family} sizes"
