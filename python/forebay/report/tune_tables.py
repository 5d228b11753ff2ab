# SPDX-License-Identifier: Apache-2.0
"""Tables of `forebay tune` and `forebay explain`."""

from forebay.report import units
from forebay.report.terminal import facts, table

POINTS_SHOWN = 10


def plan_text(plan: dict) -> str:
    """A plan as a line: reduced-blocking, 8 writers, 4 files, units of 4 MiB."""
    parts = [plan["strategy"], units.items(plan["writers"], "writer")]
    parts.append(units.items(plan["files"], "file"))
    if "unit_bytes" in plan:
        parts.append(f"units of {units.size(plan['unit_bytes'])}")
    if plan.get("alignment_bytes", 0) > 4096:
        parts.append(f"aligned to {units.size(plan['alignment_bytes'])}")
    if plan.get("exchange") == "message":
        parts.append("exchange by messages")
    if "access" in plan:
        parts.append(plan["access"])
    return ", ".join(parts)


def seconds_text(seconds: list[float]) -> str:
    """Median and range."""
    from statistics import median

    if not seconds:
        return "failed"
    text = units.duration(median(seconds))
    if len(seconds) == 1:
        return text
    return f"{text} ({units.quantity_range(min(seconds), max(seconds), 's')})"


def gain_text(gain: dict) -> str:
    low, high = gain["spread"]
    text = f"{units.number(gain['value'])} times as fast as the default"
    return f"{text} ({units.number(low)} … {units.number(high)} in {gain['runs']} paired rounds)"


def verdict(document: dict) -> str:
    """What the search has found, as a sentence."""
    if document["chosen"] == "best":
        return f"The best plan is {gain_text(document['gain'])}."
    return (
        f"The best plan is {gain_text(document['gain'])}: no reliable difference. "
        "The profile has the default."
    )


def print_tuned(console, document: dict) -> None:
    """Prints the document of a search."""
    rows = []
    for key in ("best", "default"):
        plan, seconds = document[key]["plan"], document[key]["seconds"]
        rows.append((key, f"{plan_text(plan)}: {seconds_text(seconds)} a step"))
    failed = f", {document['failed_runs']} failed" if document["failed_runs"] else ""
    searched = f"{units.items(document['runs'], 'run')}{failed}, of {document['plans']} plans"
    rows.append(("search", f"{document['method']}: {searched}; {document['why']}"))
    rows.append(("apply", f"FOREBAY_TUNING={document['profile']}, or DatasetOptions::profile"))
    console.print(facts(f"{document['kernel']} on {document['ranks']} ranks", rows))
    console.print(f"{verdict(document)}\n", markup=False)


def print_explanation(console, document: dict) -> None:
    """Prints the document of forebay.tune.explanation.explain()."""
    for sentence in document["sentences"]:
        console.print(sentence, markup=False)
    points = table(
        "Measured plans", "plan", "time of a step", "factor", "runs", right=(2, 3), fold=0
    )
    for one in document["points"][:POINTS_SHOWN]:
        ratio = units.number(one["over_best"]) if one["seconds"] else "–"
        runs = str(len(one["seconds"]) + one["failures"])
        points.add_row(plan_text(one["plan"]), seconds_text(one["seconds"]), ratio, runs)
    console.print(points)
    effects = table(
        "Parameters", "parameter", "share of the differences", "best", "worst", right=(1,)
    )
    for one in document["effects"]:
        best, worst = one["values"][0], one["values"][-1]
        worst_text = f"{worst['text']}: {units.number(worst['factor'])} times as long"
        effects.add_row(one["name"], f"{one['share']:.0%}", best["text"], worst_text)
    console.print(effects)
