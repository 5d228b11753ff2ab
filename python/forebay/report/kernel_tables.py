# SPDX-License-Identifier: Apache-2.0
"""Tables of `forebay kernel`: kernels in words, and runs of backends side by side."""

from statistics import fmean, pstdev

from forebay.kernel import metrics
from forebay.report import units
from forebay.report.terminal import table


def print_kernels(console, kernels: list[dict]) -> None:
    result = table("Kernels", "name", "writers", "steps", "what it repeats")
    for one in kernels:
        result.add_row(one["name"], str(one["writers"]), str(one["steps"]), one["about"])
    console.print(result)


def print_kernel(console, document: dict) -> None:
    """The operations in words, and what they draw."""
    kernel = document["kernel"]
    console.print(f"{kernel['name']}: {kernel['about']}")
    console.print(
        f"{kernel['writers']} ranks, {kernel['steps']} steps, {document['numbers']} numbers"
        + (f"; {kernel['source']}" if kernel["source"] else "")
    )
    result = table(
        "Operations", "operation", "what", "calls", "a call", "a rank and step", "a step"
    )
    for one in document["operations"]:
        result.add_row(
            one["name"],
            one["words"],
            f"{one['calls']}",
            _mean_and_deviation(one["sizes"]),
            _mean_and_deviation(one["rank_bytes"]),
            units.size(one["step_bytes"]),
        )
    console.print(result)


def _mean_and_deviation(values: list[float]) -> str:
    if not values:
        return "–"
    mean, deviation = fmean(values), pstdev(values)
    return units.size(mean) + (f" ± {units.size(deviation)}" if deviation > 0 else "")


def print_fit(console, document: dict) -> None:
    """How far the kernel is from the log, by operation, and what it leaves out."""
    goodness = document["goodness"]
    title = f"{document['kernel']} from {document['source']}"
    columns = ("class", "operation", "calls", "bytes", "sizes", "ranks", "ops")
    result = table(title, *columns, right=(2, 3, 4, 5, 6), fold=0)
    for one in goodness["operations"]:
        name = one["class"].rstrip("/").rpartition("/")[2] or one["class"]
        result.add_row(
            f"{one['do']}s of {name}",
            ", ".join(one["operations"]) or "left out",
            units.count(one["calls"]),
            units.size(one["bytes"]),
            *_distances(one),
        )
    result.add_section()
    calls, all_bytes = (sum(one[key] for one in goodness["operations"]) for key in SUMMED)
    totals = (units.count(calls), units.size(all_bytes))
    result.add_row("all", "", *totals, *_distances(goodness), style="bold")
    console.print(result)
    steps = units.items(document["steps"], "step")
    ranks, numbers = (units.items(document[key], key[:-1]) for key in ("writers", "numbers"))
    console.print(f"{ranks}, {steps}, {numbers}; 0 is equal to the log", markup=False)
    for text in document["warnings"]:
        console.print(f"warning: {text}", markup=False)


SUMMED = ("calls", "bytes")


def _distances(row: dict) -> tuple[str, ...]:
    return tuple(f"{row[name]:.3f}" for name in ("sizes", "ranks", "ops"))


def print_runs(console, document: dict) -> None:
    summaries = metrics.summarize(document)
    title = f"{document['kernel']} on {document['ranks']} ranks"
    columns = ["open", "write", "close", "read", "perceived", "until durable", "spread"]
    times = table(title, "backend", *columns, right=tuple(range(1, 8)), fold=0)
    columns = ["I/O overhead", "files", "memory of a rank", "of all ranks", "staging"]
    costs = table("", "backend", *columns, right=tuple(range(1, 6)), fold=0)
    for backend, values in summaries.items():
        phases = [_time(values[f"{phase}_s"]["value"]) for phase in metrics.PHASES]
        durable = values["durable_s"]
        rate = _rate(values, "perceived_mb_s")
        until = units.duration(durable["value"])
        times.add_row(backend, *phases, rate, until, _spread(durable))
        names = ("memory_max_bytes", "memory_sum_bytes", "staging_bytes")
        sizes = [units.size(values[name]["value"]) for name in names]
        share, files = values["overhead"]["value"], values["files"]["value"]
        costs.add_row(backend, f"{share:.0%}", f"{files:.0f}", *sizes)
    console.print(times)
    console.print(costs)
    for backend, cause in document["failures"].items():
        console.print(f"{backend} failed: {cause}")
    if document["error"]:
        console.print(f"the job ended early: {document['error']}")


def _time(seconds: float) -> str:
    return units.duration(seconds) if seconds > 0 else "–"


def _rate(values: dict, metric: str) -> str:
    return f"{values[metric]['value']:.0f} MB/s" if metric in values else "–"


def _spread(summary: dict) -> str:
    """Of all rounds, in parts of the median."""
    low, high = summary["spread"]
    return f"{(high - low) / summary['value']:.0%}" if summary["value"] > 0 else "–"


def print_backends(console, backends: list[dict]) -> None:
    result = table("Backends", "name", "options", "library", "reads", fold=1)
    for one in backends:
        reads = "yes" if one["reads"] else "no"
        result.add_row(one["name"], one["options"], one["library"], reads)
    console.print(result)


def print_emitted(console, document: dict) -> None:
    console.print(f"{len(document['files'])} files in {document['directory']}")
    console.print(f"build: {document['build']}")
    console.print(f"run: {document['run']}")


def print_advice(console, document: dict) -> None:
    low, high = document["worth"]["spread"]
    times = table(
        f"{document['kernel']} on {document['ranks']} ranks, until durable",
        *("setting", "time", "spread"),
        right=(1, 2),
    )
    for name, found in sorted(document["final"].items(), key=lambda one: one[1]["value"]):
        times.add_row(name, units.duration(found["value"]), _spread(found))
    console.print(times)
    if document["advised"] == document["today"]:
        console.print(f"Keep {document['today']}: none of {len(document['tried'])} is faster.")
        return
    worth = document["worth"]["value"]
    console.print(
        f"Use {document['advised']}: {document['how']}. It is {worth:.2f} times as fast as "
        f"{document['today']} ({low:.2f} to {high:.2f}); {len(document['tried'])} were tried."
    )
