# SPDX-License-Identifier: Apache-2.0
"""Results of forebay-flow as tables."""

from forebay.report import units
from forebay.report.terminal import facts, table

SPREADS = {
    "part_elements": "tetrahedra",
    "part_nodes": "nodes",
    "part_shared_nodes": "shared nodes",
    "part_neighbors": "neighbors",
}
MB = 1e6
PHASES = {
    "assembly": "forming equations",
    "product": "matrix times vector",
    "exchange": "exchange with neighbors",
    "sums": "scalar products",
    "solve": "solver, total",
    "checkpoint": "blocked by storage",
}


def print_generated(console, document: dict) -> None:
    mesh = document["mesh"]
    cells = f"{mesh['cells_across']} cells across, {mesh['cells_along']} along"
    rows = [
        ("shape", f"{mesh['shape']}, {cells}"),
        ("nodes", units.count(mesh["nodes"])),
        ("tetrahedra", units.count(mesh["elements"])),
        ("parts", units.count(document["parts"])),
        ("generated in", units.duration(document["seconds"])),
    ]
    console.print(facts(mesh["path"], rows))
    result = table("", "of a part", "min", "mean", "max", "max / mean", right=(1, 2, 3, 4))
    for name, label in SPREADS.items():
        spread = document[name]
        result.add_row(
            label,
            units.count(spread["min"]),
            f"{spread['mean']:.1f}",
            units.count(spread["max"]),
            f"{spread['max_over_mean']:.2f}",
        )
    console.print(result)


def print_run(console, document: dict) -> None:
    rows = [
        ("problem", document["problem"]),
        ("parts", f"{units.count(document['parts'])} on {document['ranks']} ranks"),
        ("steps", _steps(document)),
        ("iterations", units.count(document["iterations"])),
        ("residual", f"{document['relative_residual_max']:.2g} of the right-hand side at most"),
        ("checkpoints", _checkpoints(document)),
        ("fingerprint", document["fingerprint"]),
        ("time", units.duration(document["times_s"]["total"])),
    ]
    console.print(facts(document["mesh"], rows))
    if document["checkpoint_report"] is not None:
        print_checkpoints(console, document["checkpoint_report"])
    result = table("", "phase", "mean of ranks", "longest", right=(1, 2))
    for name, label in PHASES.items():
        phase = document["times_s"][name]
        result.add_row(label, units.duration(phase["mean"]), units.duration(phase["max"]))
    console.print(result)


def print_checkpoints(console, report: dict) -> None:
    """The cost of checkpoints: a line for each, and one for all."""
    result = table(
        f"Checkpoints: {report['store']}",
        "step", "bytes", "perceived", "durable", "perceived MB/s", "durable MB/s",
        right=(0, 1, 2, 3, 4, 5),
    )  # fmt: skip
    for step in report["steps"]:
        result.add_row(
            units.count(step["step"]),
            units.size(step["bytes"]),
            units.duration(step["perceived_s"]),
            units.duration(step["durable_s"]),
            *(units.number(step["bytes"] / step[key] / MB) for key in ("perceived_s", "durable_s")),
        )
    if report["steps"]:
        rates = (report["perceived_mb_s"], report["durable_mb_s"])
        result.add_section()
        result.add_row(
            "all",
            units.size(report["bytes"]),
            units.duration(report["perceived_s"]),
            units.duration(report["durable_s"]),
            *(f"[bold]{units.number(rate)}[/]" for rate in rates),
        )
    console.print(result)
    console.print(f"  {overhead_text(report)}\n")


def overhead_text(report: dict) -> str:
    """The share of the run in which checkpoints blocked the solver."""
    return (
        f"Storage blocked the solver for {units.duration(report['blocked_s'])} of "
        f"{units.duration(report['steps_s'])}, {report['overhead']:.1%}; of that "
        f"{units.duration(report['drain_s'])} after the last step."
    )


def _steps(document: dict) -> str:
    first, done = document["first_step"], document["steps_done"]
    return f"{first} to {done}, time {document['time']:g}"


def _checkpoints(document: dict) -> str:
    if document["checkpoints"] is None:
        return "none"
    return f"{document['checkpoints_written']} in {document['checkpoints']}"
