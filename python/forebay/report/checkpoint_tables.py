# SPDX-License-Identifier: Apache-2.0
"""Results of each method of checkpointing in each case: candidates in rows, values in columns."""

from rich.markup import escape

from forebay.report import units
from forebay.report.bench_table import machine_line
from forebay.report.terminal import table


def whole(value: float) -> str:
    return f"{value:.0f}"


# Column, metric, and format of its value. Bandwidths are in MB/s, as in NOTE.
# Writing has two tables, so that each fits a terminal of 80 columns with the longest candidate.
SPEED = (
    ("perceived", "perceived_mb_s", units.number),
    ("durable", "durable_mb_s", units.number),
    ("drain", "drain_s", units.duration),
    ("interval", "interval_s", units.duration),
    ("fill", "fill_s", units.duration),
)
COST = (
    ("memory", "memory_max_bytes", units.size),
    ("sum", "memory_sum_bytes", units.size),
    ("staging", "staging_bytes", units.size),
    ("files", "files", whole),
)
COMPUTING = (
    ("perceived", "perceived_mb_s", units.number),
    ("blocked / total", "overhead", units.number),
    ("computing / alone", "computing_over_alone", units.number),
    ("durable / alone", "durable_over_alone", units.number),
    ("drain", "drain_s", units.duration),
)
READING = (("restart", "restart_mb_s", units.number),)
NARROW = (0, 1, 0, 0)  # above, to the right, below, to the left of a cell

NOTE = (
    "Bandwidths in MB/s. interval: the shortest between two checkpoints with one on storage "
    "when the next begins. memory: growth of the rank that grew most; sum: of all ranks. "
    "staging: of all ranks, as the candidate reports it. "
    "fill: filling the blocks, in all "
    "times except the perceived one."
)


def has_cases(document: dict) -> bool:
    return document["benchmark"] == "checkpoint" and bool(document["parameters"].get("cases"))


def print_cases(console, document: dict) -> None:
    """Prints one or two tables for each case that has candidates."""
    for case in document["parameters"]["cases"]:
        if not case["candidates"]:
            continue
        for heading, columns in tables_of(case):
            names = [name for name, _, _ in columns]
            right = tuple(range(1, len(names) + 1))
            result = table(heading, "candidate", *names, right=right, fold=0)
            result.padding = NARROW
            for candidate, metrics in case["candidates"].items():
                result.add_row(
                    escape(candidate), *(cell(metrics.get(key), text) for _, key, text in columns)
                )
            console.print(result)
    console.print(f"[dim]{NOTE}[/]\n")
    for text in run_texts(document["parameters"]):
        console.print(f"[dim]{escape(text)}[/]\n")


def run_texts(parameters: dict) -> list[str]:
    """The environment of each program's run: settings of fio and, with two programs, the machine
    of each. The machine of a single one is printed below the results."""
    runs = parameters.get("runs")
    if not runs:
        return [fio_text(parameters["fio"])] if parameters.get("fio") else []
    return [
        f"{short_name(one['mpi'])}: {machine_line(one['machine'])}. {fio_text(one.get('fio', {}))}"
        for one in runs
    ]


def short_name(mpi: str) -> str:
    return mpi.split(",")[0]


def fio_text(fio: dict) -> str:
    """The settings of fio in the comparison, and the rates of all tried settings."""
    return " ".join(
        f"fio, {what}: {fio[what]}; tried: "
        + ", ".join(f"{one['setting']} {one['mb_s']:.0f}" for one in sort_trials(fio, what))
        + " MB/s."
        for what in ("writing", "reading")
        if what in fio
    )


def sort_trials(fio: dict, what: str) -> list[dict]:
    """The best trial of each setting, the best setting first."""
    best = {}
    for one in fio[f"tried_{what}"]:
        known = best.get(one["setting"])
        if known is None or one["mb_s"] > known["mb_s"]:
            best[one["setting"]] = one
    return sorted(best.values(), key=lambda one: -one["mb_s"])


def tables_of(case: dict) -> list[tuple[str, tuple]]:
    """Heading and columns of each table."""
    title = title_of(case)
    if case["readers"]:
        return [(title, READING)]
    if case["computing"] != "none":
        return [(title, COMPUTING)]
    return [(title, SPEED), (f"{title}: memory and files", COST)]


def cell(metric: dict | None, text) -> str:
    return "" if metric is None else text(metric["value"])


def title_of(case: dict) -> str:
    args = [f"{case['writers']} ranks", f"{case['sizes']} sizes"]
    if case["readers"]:
        args.append(f"read by {case['readers']}, cold")
    if case["computing"] != "none":
        args.append(f"computing: {case['computing']}")
    if case.get("mpi"):
        args.append(short_name(case["mpi"]))
    return ", ".join(args)
