# SPDX-License-Identifier: Apache-2.0
"""What follows from a checkpoint that was played by many plans: best cells, orderings, losses.

Pure functions of the document of forebay-study. docs/guides/study.md says what each of them means.
"""

from dataclasses import dataclass

from forebay import __version__

TABLE_STRATEGY = "reduced-blocking"
SHARERS_HAND_OVER = ("brigade", "gather")
ORDERINGS_MACHINE = "lustre-small"
RANKS_LEAST = 16
# Cells within a fiftieth of the best are as good, as where plans are chosen.
AS_GOOD = 0.98
FACTOR = 1.3
SHARED_FACTOR = 2
SWEET_SPOTS = 2


@dataclass(frozen=True)
class Ordering:
    """One claim about strategies: by which factor it holds, and by which it should."""

    claim: str
    factor: float
    goal: float
    # Whether the factor should be at least the goal, or at most.
    at_least: bool
    # What was compared with what.
    compared: str

    @property
    def holds(self) -> bool:
        return self.factor >= self.goal if self.at_least else self.factor <= self.goal


def cells_of(machine: dict, strategy: str) -> list[dict]:
    return [cell for cell in machine["cells"] if cell["strategy"] == strategy]


def fastest(cells: list[dict]) -> dict:
    return max(cells, key=lambda cell: cell["mb_per_s"])


def best_of(cells: list[dict]) -> dict:
    """Of the cells that are as good as the fastest: one whose files are not shared, then the one
    with the fewest files, and the fewest writers, as where plans are chosen."""
    enough = AS_GOOD * fastest(cells)["mb_per_s"]
    good = [cell for cell in cells if cell["mb_per_s"] >= enough]
    return min(good, key=_liking)


def _liking(cell: dict) -> tuple[bool, int, int]:
    return cell["files"] < cell["writers"], cell["files"], cell["writers"]


def table_strategy(machine: dict) -> str:
    """Whose cells are the table: the deck's, if it was played, else the first one."""
    played = [cell["strategy"] for cell in machine["cells"]]
    return TABLE_STRATEGY if TABLE_STRATEGY in played else played[0]


def sweet_spot(machine: dict) -> dict:
    """The best cell of a machine's table."""
    return best_of(cells_of(machine, table_strategy(machine)))


def shape_of(cell: dict) -> tuple[int, int]:
    return cell["writers"], cell["files"]


def losses(machines: list[dict]) -> list[list[float]]:
    """Row by row of the machine used, column by column of whose best cell is used there: what is
    lost against the machine's own best cell, as a share. Below 0: the other's is a little better
    than its own, which is as good and smaller."""
    return [[_loss(used, other) for other in machines] for used in machines]


def _loss(used: dict, other: dict) -> float:
    wanted = shape_of(sweet_spot(other))
    cells = cells_of(used, table_strategy(other))
    there = next(cell for cell in cells if shape_of(cell) == wanted)
    return 1 - there["mb_per_s"] / sweet_spot(used)["mb_per_s"]


def machines_that_differ(machines: list[dict]) -> int:
    """How many have a best cell that is not every other's."""
    shapes = [shape_of(sweet_spot(machine)) for machine in machines]
    return sum(any(shape != other for other in shapes) for shape in shapes)


def orderings(machine: dict) -> list[Ordering]:
    """The four claims, of a machine that was played with all strategies."""
    return [_grouped(machine), _shared(machine), _own_files(machine), _handed_over(machine)]


def _grouped(machine: dict) -> Ordering:
    each = cells_of(machine, "file-per-process")[0]
    grouped = fastest([cell for cell in machine["cells"] if cell["files"] < each["files"]])
    return Ordering(
        "file-per-process is slower than grouped",
        grouped["mb_per_s"] / each["mb_per_s"],
        FACTOR,
        at_least=True,
        compared=f"{text_of(grouped)}, over {text_of(each)}",
    )


def _shared(machine: dict) -> Ordering:
    best, shared = fastest(machine["cells"]), machine["shared"]
    return Ordering(
        "one shared aligned file is slower than the best",
        best["mb_per_s"] / shared["mb_per_s"],
        SHARED_FACTOR,
        at_least=True,
        compared=f"{text_of(best)}, over all ranks in one file",
    )


def _own_files(machine: dict) -> Ordering:
    """As the deck compares: with as many writers."""
    cells = cells_of(machine, TABLE_STRATEGY)
    shared = [cell for cell in cells if cell["files"] < cell["writers"]]
    owned = [cell for cell in cells if cell["files"] == cell["writers"] > 1]
    best = best_of(owned)
    sharing = fastest([cell for cell in shared if cell["writers"] == best["writers"]])
    return Ordering(
        "files = writers is best for reduced-blocking",
        best["mb_per_s"] / sharing["mb_per_s"],
        FACTOR,
        at_least=True,
        compared=f"{text_of(best)}, over {text_of(sharing)}",
    )


def _handed_over(machine: dict) -> Ordering:
    cells = [fastest(cells_of(machine, name)) for name in SHARERS_HAND_OVER]
    times = [cell["durable_s"] for cell in cells]
    return Ordering(
        "brigade and gather take as long",
        max(times) / min(times),
        FACTOR,
        at_least=False,
        compared=" and ".join(text_of(cell) for cell in cells),
    )


def text_of(cell: dict) -> str:
    """reduced-blocking 8/4"""
    return f"{cell['strategy']} {cell['writers']}/{cell['files']}"


def machine_of_orderings(document: dict) -> dict | None:
    """With fewer ranks a claim may have nothing to compare: one rank shares no file."""
    if document["ranks"] < RANKS_LEAST:
        return None
    for machine in document["machines"]:
        if machine["name"] == ORDERINGS_MACHINE and _has_all(machine):
            return machine
    return None


def _has_all(machine: dict) -> bool:
    played = {cell["strategy"] for cell in machine["cells"]}
    return {"file-per-process", TABLE_STRATEGY, *SHARERS_HAND_OVER} <= played


def results_of(document: dict) -> dict:
    """Rows as benchmarks have them, and why one is left out."""
    rows, left_out = [], {}
    machine = machine_of_orderings(document)
    if machine is None:
        why = f"takes {ORDERINGS_MACHINE}, all presets, and at least {RANKS_LEAST} ranks"
        left_out["ckpt.pfs.ordering"] = why
    else:
        found = orderings(machine)
        held = sum(one.holds for one in found)
        rows.append(_row("ckpt.pfs.ordering", held, "orderings", len(found)))
    if len(document["machines"]) > 1:
        differ = machines_that_differ(document["machines"])
        rows.append(_row("ckpt.pfs.sweet_spot", differ, "machines", SWEET_SPOTS))
    else:
        left_out["ckpt.pfs.sweet_spot"] = "takes two machines or more"
    return {"results": rows, "left_out": left_out}


def _row(name: str, value: int, unit: str, goal: int) -> dict:
    return {
        "id": name,
        "value": value,
        "unit": unit,
        "spread": [value, value],
        "spread_kind": "none",
        "runs": 1,
        "goal": goal,
        "better": "higher",
        "met": value >= goal,
        "peers": {},
    }


def report_of(document: dict) -> dict:
    """The document for --json: what was played, and what follows from it."""
    machine = machine_of_orderings(document)
    found = orderings(machine) if machine is not None else []
    parameters = {key: value for key, value in document.items() if key != "machines"}
    return {
        "benchmark": "study checkpoint",
        "version": __version__,
        "parameters": parameters,
        "machines": [
            {**one, "best": sweet_spot(one), "table": table_strategy(one)}
            for one in document["machines"]
        ],
        "orderings": [
            {
                "claim": one.claim,
                "factor": one.factor,
                "goal": one.goal,
                "better": "higher" if one.at_least else "lower",
                "met": one.holds,
                "compared": one.compared,
            }
            for one in found
        ],
        "losses": losses(document["machines"]),
        **results_of(document),
    }
