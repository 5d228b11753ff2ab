# SPDX-License-Identifier: Apache-2.0
"""What forebay-flow made and computed, as tables."""

from forebay.report import units
from forebay.report.terminal import facts, table

SPREADS = {
    "part_elements": "tetrahedra",
    "part_nodes": "nodes",
    "part_shared_nodes": "shared nodes",
    "part_neighbours": "neighbours",
}
MB = 1e6
PHASES = {
    "assembly": "forming equations",
    "product": "matrix times vector",
    "exchange": "exchange with neighbours",
    "sums": "scalar products",
    "solve": "solver, all of it",
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
        ("made in", units.duration(document["seconds"])),
    ]
    console.print(facts(mesh["path"], rows))
    result = table("", "of a part", "least", "mean", "most", "most / mean", right=(1, 2, 3, 4))
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
        ("took", units.duration(document["times_s"]["total"])),
    ]
    console.print(facts(document["mesh"], rows))
    if document["kept"] is not None:
        print_kept(console, document["kept"])
    result = table("", "phase", "mean of ranks", "longest", right=(1, 2))
    for name, label in PHASES.items():
        phase = document["times_s"][name]
        result.add_row(label, units.duration(phase["mean"]), units.duration(phase["max"]))
    console.print(result)


def print_kept(console, kept: dict) -> None:
    """What checkpoints cost: a line for each, and all of them."""
    result = table(
        f"Checkpoints: {kept['store']}",
        "step", "bytes", "perceived", "durable", "perceived MB/s", "durable MB/s",
        right=(0, 1, 2, 3, 4, 5),
    )  # fmt: skip
    for step in kept["steps"]:
        result.add_row(
            units.count(step["step"]),
            units.size(step["bytes"]),
            units.duration(step["perceived_s"]),
            units.duration(step["durable_s"]),
            *(units.number(step["bytes"] / step[key] / MB) for key in ("perceived_s", "durable_s")),
        )
    if kept["steps"]:
        rates = (kept["perceived_mb_s"], kept["durable_mb_s"])
        result.add_section()
        result.add_row(
            "all",
            units.size(kept["bytes"]),
            units.duration(kept["perceived_s"]),
            units.duration(kept["durable_s"]),
            *(f"[bold]{units.number(rate)}[/]" for rate in rates),
        )
    console.print(result)
    console.print(f"  {overhead_text(kept)}\n")


def overhead_text(kept: dict) -> str:
    """How much of the run checkpoints took."""
    return (
        f"Storage blocked the solver for {units.duration(kept['blocked_s'])} of "
        f"{units.duration(kept['steps_s'])}, {kept['overhead']:.1%}; of that "
        f"{units.duration(kept['drain_s'])} after the last step."
    )


def _steps(document: dict) -> str:
    first, done = document["first_step"], document["steps_done"]
    return f"{first} to {done}, time {document['time']:g}"


def _checkpoints(document: dict) -> str:
    if document["checkpoints"] is None:
        return "none"
    return f"{document['checkpoints_written']} in {document['checkpoints']}"
