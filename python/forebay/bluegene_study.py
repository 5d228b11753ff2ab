# SPDX-License-Identifier: Apache-2.0
"""The tables of PHASTA's I/O on two Blue Genes (Fu et al., slides), repeated by simulation: five
approaches, actual and perceived bandwidth, numbers of files, and the memory of rank 0.

measure() simulates; the rest are pure functions of its document. docs/guides/study.md
describes the result.
"""

from collections.abc import Iterable

from forebay import agreement, native, step_model
from forebay.published import Cell, grid, tables
from forebay.sizes import parse_size

SEQUENTIAL, PER_PROCESS, RBIO = "sequential", "1pfpp", "rbio"
PMPIO, SYNCIO = "pmpio", "syncio"
STRATEGIES = {
    SEQUENTIAL: "serial",
    PER_PROCESS: "file-per-process",
    PMPIO: "baton",
    SYNCIO: "collective",
    RBIO: "reduced-blocking",
}
APPROACHES = tuple(STRATEGIES)
CELLS = tuple(grid("bgp_actual"))
FILES = (1, 16, 32, 64, 128, 256, 512, 1024)
# Machine file and the table of its peaks.
DESCRIBED = {"bgl": "bgl", "intrepid-described": "bgp"}
FITTED = "intrepid"
TABLE_MACHINE = "intrepid-described"  # of the tables by writers and files
WORD_BYTES = 8
MEBIBYTE = 1 << 20
# Writes of a GPFS block, and memory for all bytes that a writer of rbIO receives.
SIZES = {"unit_bytes": 4 * MEBIBYTE, "memory_bytes": 128 * MEBIBYTE}
GIGA, TERA = 1e9, 1e12


def plans_of(approach: str, cells: Iterable[Cell] = CELLS) -> list[dict]:
    """The plans among which an approach has its best one; those of rbIO are `cells`."""
    plan = {"strategy": STRATEGIES[approach]} | SIZES
    if approach == RBIO:
        return [plan | {"writers": writers, "files": files} for writers, files in cells]
    if approach in (PMPIO, SYNCIO):
        return [plan | {"files": files} for files in FILES]
    return [plan]


def request_of(machine: str, table: str, plans: list[dict]) -> dict:
    """A request for the step of a table: its ranks and bytes."""
    shape = tables()[table]
    each = shape["bytes"] // shape["ranks"] // WORD_BYTES * WORD_BYTES
    ranks = {"ranks": shape["ranks"], "nodes": 0, "bytes_per_rank": each}
    return {"machine": machine, "method": "formula"} | ranks | {"plans": plans}


def cells_of(request: dict, approaches: list[str]) -> list[dict]:
    """Simulates plans, each of an approach."""
    found = step_model.simulate_steps(request)
    ranks, each = request["ranks"], request["bytes_per_rank"]
    return [
        cell_of(approach, one, ranks, each) for approach, one in zip(approaches, found, strict=True)
    ]


def cell_of(approach: str, simulated: dict, ranks: int, bytes_per_rank: int) -> dict:
    """Bandwidths of a simulated plan. The perceived one is that of the bytes that ranks hand to
    writers, if the approach has writers."""
    plan, (step, *_) = simulated["plan"], simulated["steps"]
    workers = ranks - plan["writers"] if approach == RBIO else ranks
    return {
        "approach": approach,
        "writers": plan["writers"],
        "files": plan["files"],
        "actual_gb_per_s": ranks * bytes_per_rank / step["written_s"] / GIGA,
        "perceived_tb_per_s": workers * bytes_per_rank / step["perceived_s"] / TERA,
        "memory_bytes": simulated["memory_bytes"],
        "times": step,
    }


def measure(on_progress=None) -> dict:
    """Cells of all approaches on both machines and of rbIO on the fitted one, and two scales."""
    machines = []
    targets = [*DESCRIBED.items(), (FITTED, "bgp")]
    for number, (machine, table) in enumerate(targets):
        if on_progress is not None:
            on_progress(native.Progress(number, len(targets) + 1, "machines", machine))
        chosen = (RBIO,) if machine == FITTED else APPROACHES
        pairs = [(one, plan) for one in chosen for plan in plans_of(one)]
        request = request_of(machine, table, [plan for _, plan in pairs])
        cells = cells_of(request, [one for one, _ in pairs])
        machines.append({"name": machine, "table": table, "cells": cells})
    scales = [
        measure_scale(ranks) for ranks in (tables()["bgp"]["ranks"], tables()["files"]["ranks"])
    ]
    return {"machines": machines, "scales": scales}


def measure_scale(ranks: int) -> dict:
    """Files and creation time of 1PFPP with as many files for each rank as on the slides, and the
    memory of rank 0 in sequential output: with all bytes of a step, and by Forebay's plan."""
    node = step_model.read_machine(TABLE_MACHINE)["client"]
    plans = [*plans_of(SEQUENTIAL), *plans_of(PER_PROCESS)]
    request = request_of(TABLE_MACHINE, "bgp", plans) | {"ranks": ranks}
    sequential, per_process = step_model.simulate_steps(request)
    files_of_rank = tables()["files"]["files"] // tables()["files"]["ranks"]
    return {
        "ranks": ranks,
        "files": files_of_rank * ranks,
        "opened_s": files_of_rank * per_process["steps"][0]["opened_s"],
        "step_bytes": ranks * request["bytes_per_rank"],
        "node_bytes": parse_size(node["memory_bytes"], "client.memory_bytes"),
        "plan_bytes": sequential["memory_bytes"],
    }


def best_of(cells: list[dict], approach: str) -> dict:
    found = [one for one in cells if one["approach"] == approach]
    return max(found, key=lambda one: one["actual_gb_per_s"])


def by_cell(machine: dict, key: str) -> dict[Cell, float]:
    """The cells of rbIO by writers and files."""
    found = [one for one in machine["cells"] if one["approach"] == RBIO]
    return {(one["writers"], one["files"]): one[key] for one in found}


def report_of(document: dict) -> dict:
    """The document with the best plan of each approach and the agreement with the slides."""
    machines = {one["name"]: one for one in document["machines"]}
    return document | {
        "approaches": {name: approaches_of(machines[name]) for name in DESCRIBED},
        "actual": {
            name: agreement.compare(grid("bgp_actual"), by_cell(machines[name], "actual_gb_per_s"))
            for name in (TABLE_MACHINE, FITTED)
        },
        "perceived": agreement.compare(
            grid("bgp_perceived"), by_cell(machines[TABLE_MACHINE], "perceived_tb_per_s")
        ),
    }


def approaches_of(machine: dict) -> dict:
    """{"best": cell of each approach, "pairs": number of printed orders, "ordered": those that the
    simulation has too, "factor": best of all / the best printed one, at least 1}."""
    printed = tables()[machine["table"]]
    best = {one: best_of(machine["cells"], one) for one in APPROACHES}
    pairs = list(agreement.ordered_pairs(printed["peaks"], printed["below"]))
    ours = {one: cell["actual_gb_per_s"] for one, cell in best.items()}
    return {
        "best": best,
        "pairs": len(pairs),
        "ordered": sum(ours[fast] > ours[slow] for fast, slow in pairs),
        "factor": agreement.factor(max(ours.values()), max(printed["peaks"].values())),
    }
