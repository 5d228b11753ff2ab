# SPDX-License-Identifier: Apache-2.0
"""Published numbers beside simulated ones, as tables for the terminal and for the page of
`forebay study seeds`."""

from collections.abc import Callable
from dataclasses import dataclass

from forebay.bluegene_study import APPROACHES, DESCRIBED, FITTED, RBIO, TABLE_MACHINE, by_cell
from forebay.ckio_study import NAIVE, NAMES, SESSION, seconds
from forebay.published import citation, grid, tables
from forebay.report import units
from forebay.report.terminal import table

NAMES_OF_APPROACHES = {
    "sequential": "sequential: rank 0 writes",
    "1pfpp": "1PFPP: a file for each rank",
    "pmpio": "PMPIO: one writer of a file",
    "syncio": "syncIO: collective writes",
    "rbio": "rbIO: few writers",
}
RATIOS_SHOWN = (0.1, 0.25, 0.5, 1, 2, 10)


@dataclass(frozen=True)
class SeedTable:
    """A table with its source. The first column has names, the others numbers."""

    id: str
    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    text: str
    source: str


def seed_tables(document: dict) -> list[SeedTable]:
    """The tables of a document of forebay.seeds_study."""
    return [
        *bluegene_tables(document["bluegene"]),
        *ckio_tables(document["ckio"]),
        gain_table(document["gain"]),
        qmcpack_table(document["qmcpack"]),
    ]


def bluegene_tables(document: dict) -> list[SeedTable]:
    machines = {one["name"]: one for one in document["machines"]}
    return [
        *(approaches_table(name, document["approaches"][name]) for name in DESCRIBED),
        actual_table(document, machines),
        perceived_table(document, machines),
        scales_table(document),
    ]


def print_tables(console, found: list[SeedTable]) -> None:
    for one in found:
        shown = table(one.title, *one.columns, right=tuple(range(1, len(one.columns))))
        for row in one.rows:
            shown.add_row(*row)
        console.print(shown)
        console.print(f"[dim]{one.text} Published: {one.source}.[/]\n", soft_wrap=True)


def approaches_table(name: str, found: dict) -> SeedTable:
    printed = tables()[DESCRIBED[name]]
    columns = ("theirs", "ours", "writers", "files", "opened", "written", "perceived")
    perceived = found["best"][RBIO]["perceived_tb_per_s"]
    return SeedTable(
        f"approaches-{name}",
        f"{name}: five approaches with their best writers and files, GB/s",
        ("approach", *columns),
        [approach_row(one, printed, found["best"][one]) for one in APPROACHES],
        f"From the description of the machine; nothing is fitted. Printed orders that hold: "
        f"{found['ordered']} of {found['pairs']}. The best of ours / theirs is within a factor of "
        f"{found['factor']:.2f}. Perceived bandwidth of rbIO: theirs about "
        f"{printed['perceived_tb_per_s']:.0f} TB/s, ours {perceived:.1f}. {printed['note']}",
        citation(DESCRIBED[name]),
    )


def approach_row(approach: str, printed: dict, cell: dict) -> tuple[str, ...]:
    signs = {"peaks": "", "below": "< ", "doubtful": "? "}
    found = [
        f"{sign}{units.number(printed[kind][approach])}"
        for kind, sign in signs.items()
        if approach in printed[kind]
    ]
    theirs = found[0] if found else "–"
    numbers = (units.number(cell["actual_gb_per_s"]), *map(units.count, shape_of(cell)))
    times = (cell["times"][key] for key in ("opened_s", "written_s", "perceived_s"))
    return NAMES_OF_APPROACHES[approach], theirs, *numbers, *map(units.duration, times)


def shape_of(cell: dict) -> tuple[int, int]:
    return cell["writers"], cell["files"]


def actual_table(document: dict, machines: dict) -> SeedTable:
    fitted = by_cell(machines[FITTED], "actual_gb_per_s")
    described = by_cell(machines[TABLE_MACHINE], "actual_gb_per_s")
    return SeedTable(
        "actual",
        "intrepid: actual bandwidth of rbIO, GB/s",
        ("writers, files", "theirs", "fitted", "error", "described", "error"),
        rows_of_cells("bgp_actual", fitted, described),
        f"Fitted with four constants: {agreement_text(document['actual'][FITTED])}. Described, no "
        f"constant is fitted: {agreement_text(document['actual'][TABLE_MACHINE])}.",
        citation("bgp_actual"),
    )


def perceived_table(document: dict, machines: dict) -> SeedTable:
    return SeedTable(
        "perceived",
        "intrepid: perceived bandwidth of rbIO, TB/s",
        ("writers, files", "theirs", "ours", "error"),
        rows_of_cells("bgp_perceived", by_cell(machines[TABLE_MACHINE], "perceived_tb_per_s")),
        "Bytes that workers send to writers, over the time until they continue: "
        f"{agreement_text(document['perceived'])}. Nothing is fitted: each rank has a quarter of "
        "the torus links of its node.",
        citation("bgp_perceived"),
    )


def rows_of_cells(name: str, *ours: dict) -> list[tuple[str, ...]]:
    """Theirs, and each of ours with its relative error."""
    return [
        (
            f"{cell[0]}, {cell[1]}",
            f"{value:.2f}",
            *(text for one in ours for text in (f"{one[cell]:.2f}", error(value, one[cell]))),
        )
        for cell, value in grid(name).items()
    ]


def error(theirs: float, ours: float) -> str:
    return f"{ours / theirs - 1:+.1%}"


def row_of(one: dict, **formats: Callable) -> tuple[str, ...]:
    return tuple(make_text(one[key]) for key, make_text in formats.items())


def scales_table(document: dict) -> SeedTable:
    names = ("ranks", "files of 1PFPP", "created in", "all bytes at rank 0", "its node")
    counts = {"ranks": units.count, "files": units.count, "opened_s": units.duration}
    sizes = dict.fromkeys(("step_bytes", "node_bytes", "plan_bytes"), units.size)
    return SeedTable(
        "scales",
        "Files of 1PFPP, and memory of rank 0 in sequential output",
        (*names, "Forebay's plan"),
        [row_of(one, **counts, **sizes) for one in document["scales"]],
        "Two files for each rank, as on the slides, which report a kernel panic. A rank 0 that "
        "receives all bytes before it writes needs the memory of many nodes; the plan bounds it.",
        citation("files"),
    )


def ckio_tables(document: dict) -> list[SeedTable]:
    chosen, flat = document["chosen"], document["flat"]
    times = zip(*map(seconds, chosen.values()), document["over_session"][NAIVE], strict=True)
    rows = [
        (units.count(tasks), *map(units.duration, took), f"{ratio:.2f}")
        for tasks, (*took, ratio) in zip(document["tasks"], times, strict=True)
    ]
    text = (
        f"Longest / shortest time: session {flat[SESSION]:.2f}, naive {flat[NAIVE]:.2f}. The "
        f"session has {chosen[SESSION]['plan']['agents']} agents. {tables()['ckio']['note']}"
    )
    title = "bridges2: 4 GB read by many tasks on 16 nodes"
    columns = ("tasks", *(NAMES[method] for method in chosen), "naive / session")
    return [SeedTable("ckio", title, columns, rows, text, citation("ckio"))]


def gain_table(document: dict) -> SeedTable:
    curves = document["curves"]
    rows = []
    for ratio in RATIOS_SHOWN:
        points = [min(one["points"], key=lambda p: abs(p["ratio"] / ratio - 1)) for one in curves]
        numbers = (f"{point[key]:.2f}" for point in points for key in ("theirs", "ours"))
        rows.append((f"{points[0]['ratio']:.2g}", *numbers))
    columns = [f"{key}, N = {one['devices']}" for one in curves for key in ("theirs", "ours")]
    text = (
        f"Synchronous n (C + W), asynchronous C + W + (n - 1) max(C, W / N); n = "
        f"{document['count']}. Largest difference: {document['max_error']:.2%}."
    )
    title = "Gain of asynchronous over synchronous output"
    return SeedTable("gain", title, ("C / W", *columns), rows, text, citation("cube"))


def qmcpack_table(document: dict) -> SeedTable:
    shares = dict.fromkeys(("theirs", "ours"), "{:.1%}".format)
    formats = {"gb_per_s": "{:.0f} GB/s".format, "writers": units.count} | shares
    return SeedTable(
        "qmcpack",
        "QMCPack on titan: share of I/O in the time",
        ("bandwidth", "writers", "theirs", "ours", "error"),
        [(*row_of(one, **formats), error(one["theirs"], one["ours"])) for one in document["rows"]],
        "The first row defines the computation of a step, so it has no error. The last one is two "
        "writers of each node, for which the slides project 50 % or more.",
        citation("qmcpack"),
    )


def agreement_text(found: dict) -> str:
    """A comparison of agreement.compare() in words."""
    best = "the same" if found["best_theirs"] == found["best_ours"] else "another"
    return (
        f"error {found['mean_error']:.1%} on average, at most {found['max_error']:.1%}; Kendall's "
        f"tau {found['tau']:.2f}; {best} best cell"
    )
