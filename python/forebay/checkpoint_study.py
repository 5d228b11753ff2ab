# SPDX-License-Identifier: Apache-2.0
"""Results of a checkpoint that was simulated with many plans: best cells, orderings, losses.

Pure functions of the document of study_checkpoint(). docs/guides/study.md defines each result.
"""

from dataclasses import dataclass

from forebay import __version__

TABLE_STRATEGY = "reduced-blocking"
AGGREGATION_STRATEGIES = ("brigade", "gather")
CLAIMS_MACHINE = "lustre-small"
RANKS_MIN = 16
# Cells within a fiftieth of the best count as equal, as where plans are chosen.
NEAR_BEST = 0.98
FACTOR = 1.3
SHARED_FACTOR = 2
SWEET_SPOTS = 2


@dataclass(frozen=True)
class StrategyClaim:
    """One claim about strategies, with the factor by which it holds and the goal of that factor."""

    claim: str
    factor: float
    goal: float
    # True: the goal is the smallest good factor. False: the largest.
    at_least: bool
    # The compared cells.
    compared: str

    @property
    def is_satisfied(self) -> bool:
        return self.factor >= self.goal if self.at_least else self.factor <= self.goal


def cells_of(machine: dict, strategy: str) -> list[dict]:
    return [cell for cell in machine["cells"] if cell["strategy"] == strategy]


def fastest(cells: list[dict]) -> dict:
    return max(cells, key=lambda cell: cell["mb_per_s"])


def best_of(cells: list[dict]) -> dict:
    """The preferred cell of those that count as equal to the fastest, as where plans are chosen.

    Files that are not shared come first, then the fewest files, then the fewest writers.
    """
    enough = NEAR_BEST * fastest(cells)["mb_per_s"]
    good = [cell for cell in cells if cell["mb_per_s"] >= enough]
    return min(good, key=_preference)


def _preference(cell: dict) -> tuple[bool, int, int]:
    return cell["files"] < cell["writers"], cell["files"], cell["writers"]


def table_strategy(machine: dict) -> str:
    """The strategy of the table: TABLE_STRATEGY if it was simulated, else the first one."""
    simulated = [cell["strategy"] for cell in machine["cells"]]
    return TABLE_STRATEGY if TABLE_STRATEGY in simulated else simulated[0]


def sweet_spot(machine: dict) -> dict:
    """The best cell of a machine's table."""
    return best_of(cells_of(machine, table_strategy(machine)))


def shape_of(cell: dict) -> tuple[int, int]:
    return cell["writers"], cell["files"]


def loss_matrix(machines: list[dict]) -> list[list[float]]:
    """The loss of each machine (row) with the best cell of each machine (column), as a share.

    The loss is relative to the row's own best cell. Below 0: the other cell is slightly faster than
    the own one, which counts as equal and is preferred.
    """
    return [[_relative_loss(used, other) for other in machines] for used in machines]


def _relative_loss(used: dict, other: dict) -> float:
    shape = shape_of(sweet_spot(other))
    cells = cells_of(used, table_strategy(other))
    same_shape = next(cell for cell in cells if shape_of(cell) == shape)
    return 1 - same_shape["mb_per_s"] / sweet_spot(used)["mb_per_s"]


def count_distinct_best(machines: list[dict]) -> int:
    """The number of machines whose best cell is not the best cell of every other."""
    shapes = [shape_of(sweet_spot(machine)) for machine in machines]
    return sum(any(shape != other for other in shapes) for shape in shapes)


def strategy_claims(machine: dict) -> list[StrategyClaim]:
    """The four claims, for a machine that was simulated with all strategies."""
    return [
        _grouped_files_claim(machine),
        _shared_file_claim(machine),
        _file_per_process_claim(machine),
        _aggregation_claim(machine),
    ]


def _grouped_files_claim(machine: dict) -> StrategyClaim:
    each = cells_of(machine, "file-per-process")[0]
    grouped = fastest([cell for cell in machine["cells"] if cell["files"] < each["files"]])
    return StrategyClaim(
        "file-per-process is slower than grouped",
        grouped["mb_per_s"] / each["mb_per_s"],
        FACTOR,
        at_least=True,
        compared=f"{cell_label(grouped)}, over {cell_label(each)}",
    )


def _shared_file_claim(machine: dict) -> StrategyClaim:
    best, shared = fastest(machine["cells"]), machine["shared"]
    return StrategyClaim(
        "one shared aligned file is slower than the best",
        best["mb_per_s"] / shared["mb_per_s"],
        SHARED_FACTOR,
        at_least=True,
        compared=f"{cell_label(best)}, over all ranks in one file",
    )


def _file_per_process_claim(machine: dict) -> StrategyClaim:
    """Compares cells with the same number of writers, as the published table does."""
    cells = cells_of(machine, TABLE_STRATEGY)
    shared = [cell for cell in cells if cell["files"] < cell["writers"]]
    owned = [cell for cell in cells if cell["files"] == cell["writers"] > 1]
    best = best_of(owned)
    sharing = fastest([cell for cell in shared if cell["writers"] == best["writers"]])
    return StrategyClaim(
        "files = writers is best for reduced-blocking",
        best["mb_per_s"] / sharing["mb_per_s"],
        FACTOR,
        at_least=True,
        compared=f"{cell_label(best)}, over {cell_label(sharing)}",
    )


def _aggregation_claim(machine: dict) -> StrategyClaim:
    cells = [fastest(cells_of(machine, name)) for name in AGGREGATION_STRATEGIES]
    times = [cell["durable_s"] for cell in cells]
    return StrategyClaim(
        "brigade and gather take equally long",
        max(times) / min(times),
        FACTOR,
        at_least=False,
        compared=" and ".join(cell_label(cell) for cell in cells),
    )


def cell_label(cell: dict) -> str:
    """Strategy, writers and files: "reduced-blocking 8/4"."""
    return f"{cell['strategy']} {cell['writers']}/{cell['files']}"


def claims_machine(document: dict) -> dict | None:
    """The machine of the claims; None if it was not simulated with all strategies.

    None also with fewer than RANKS_MIN ranks, as a claim may then have nothing to compare: one rank
    shares no file.
    """
    if document["ranks"] < RANKS_MIN:
        return None
    for machine in document["machines"]:
        if machine["name"] == CLAIMS_MACHINE and _has_all(machine):
            return machine
    return None


def _has_all(machine: dict) -> bool:
    simulated = {cell["strategy"] for cell in machine["cells"]}
    return {"file-per-process", TABLE_STRATEGY, *AGGREGATION_STRATEGIES} <= simulated


def results_of(document: dict) -> dict:
    """Rows in the form of benchmarks, and the reasons of those that are left out."""
    rows, skipped = [], {}
    machine = claims_machine(document)
    if machine is None:
        why = f"requires {CLAIMS_MACHINE}, all presets, and at least {RANKS_MIN} ranks"
        skipped["ckpt.pfs.ordering"] = why
    else:
        found = strategy_claims(machine)
        held = sum(one.is_satisfied for one in found)
        rows.append(_row("ckpt.pfs.ordering", held, "orderings", len(found)))
    if len(document["machines"]) > 1:
        differ = count_distinct_best(document["machines"])
        rows.append(_row("ckpt.pfs.sweet_spot", differ, "machines", SWEET_SPOTS))
    else:
        skipped["ckpt.pfs.sweet_spot"] = "requires two machines or more"
    return {"results": rows, "skipped": skipped}


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
    """The document for --json: the simulated cells, and the results."""
    machine = claims_machine(document)
    found = strategy_claims(machine) if machine is not None else []
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
                "met": one.is_satisfied,
                "compared": one.compared,
            }
            for one in found
        ],
        "losses": loss_matrix(document["machines"]),
        **results_of(document),
    }
