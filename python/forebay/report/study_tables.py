# SPDX-License-Identifier: Apache-2.0
"""A study of checkpoints as tables: writers in rows and files in columns, the best cells, and their
loss on other machines."""

from forebay.checkpoint_study import best_of, cell_label, cells_of, shape_of
from forebay.report import bench_table, units
from forebay.report.terminal import table

PERCENT = 100
MARK = "▸"


def print_study(console, report: dict) -> None:
    """Prints a document of report_of()."""
    console.print(question_line(report["parameters"]), style="dim", soft_wrap=True)
    for machine in report["machines"]:
        console.print(_cells_table(machine))
        console.print(_presets_table(machine))
    if report["orderings"]:
        console.print(_orderings_table(report["orderings"]))
    if len(report["machines"]) > 1:
        console.print(_losses_table(report))
    for row in report["results"]:
        value = units.with_unit(units.limit(row["value"]), row["unit"])
        console.print(f"{row['id']}: [bold]{value}[/]  {bench_table.verdict_text(row)}")
    for name, reason in report["skipped"].items():
        console.print(f"[dim]{name} left out: {reason}[/]", soft_wrap=True)


def question_line(parameters: dict) -> str:
    each = units.size(parameters["bytes_per_rank"])
    sizes = "each" if parameters["sizes"] == "equal" else "on average, exponential"
    return (
        f"{parameters['ranks']} ranks with {each} {sizes}; MB/s = bytes / time until the step is "
        f"durable, by the model; {MARK} marks the best cell"
    )


def _cells_table(machine: dict):
    cells = cells_of(machine, machine["table"])
    files = sorted({cell["files"] for cell in cells})
    title = f"{machine['name']}, {machine['nodes']} nodes: {machine['table']}, MB/s"
    columns = ("writers \\ files", *(units.count(number) for number in files))
    result = table(title, *columns, right=tuple(range(len(columns))))
    for writers in sorted({cell["writers"] for cell in cells}):
        row = {cell["files"]: cell for cell in cells if cell["writers"] == writers}
        texts = [_cell_text(row.get(number), machine["best"]) for number in files]
        result.add_row(units.count(writers), *texts)
    return result


def _cell_text(cell: dict | None, best: dict) -> str:
    if cell is None:
        return ""
    text = f"{cell['mb_per_s']:.0f}"
    return f"[bold green]{MARK}{text}[/]" if shape_of(cell) == shape_of(best) else text


def _presets_table(machine: dict):
    columns = ("preset", "writers", "files", "MB/s", "opened", "exchanged", "written", "durable")
    title = "Each preset at its best, with its times"
    result = table(title, *columns, right=tuple(range(1, len(columns))))
    for strategy in dict.fromkeys(cell["strategy"] for cell in machine["cells"]):
        _add_preset(result, strategy, best_of(cells_of(machine, strategy)))
    _add_preset(result, "one shared file", machine["shared"])
    return result


def _add_preset(result, name: str, cell: dict) -> None:
    times = [
        units.duration(cell[key])
        for key in ("files_opened_s", "handed_off_s", "written_s", "durable_s")
    ]
    result.add_row(
        name,
        units.count(cell["writers"]),
        units.count(cell["files"]),
        f"{cell['mb_per_s']:.0f}",
        *times,
    )


def _orderings_table(orderings: list[dict]):
    columns = ("", "claim", "factor", "goal", "compared")
    result = table("Orderings on lustre-small", *columns, right=(2, 3), fold=4)
    for number, one in enumerate(orderings, start=1):
        sign, color = ("✓", "green") if one["met"] else ("✗", "red")
        limit = "≥" if one["better"] == "higher" else "≤"
        result.add_row(
            f"[{color}]{sign}[/]",
            f"({number}) {one['claim']}",
            f"{one['factor']:.2f}",
            f"{limit} {units.limit(one['goal'])}",
            one["compared"],
        )
    return result


def _losses_table(report: dict):
    machines = report["machines"]
    columns = ["used on", *(f"best of {one['name']}" for one in machines)]
    result = table("Loss in %", *columns, right=tuple(range(1, len(columns))))
    result.add_row("[dim]cell[/]", *(f"[dim]{cell_label(one['best'])}[/]" for one in machines))
    for machine, row in zip(machines, report["losses"], strict=True):
        result.add_row(machine["name"], *(f"{PERCENT * loss + 0.0:.0f}" for loss in row))
    return result


def print_irregular(console, result: dict) -> None:
    title = f"Statements, {result['ranks']} ranks, {result['steps']} steps, by simulation"
    answers = table(title, "statement", "answer", "", "why", fold=3)
    for one in result["statements"]:
        answers.add_row(one["statement"], one["answer"], one["verdict"], one["why"])
    console.print(answers)
    for machine, losses in result["losses"].items():
        title = f"{machine}: loss of a pattern (row) with the best setting of another"
        right = tuple(range(1, len(losses) + 1))
        console.print(with_rows(table(title, "pattern", *losses, right=right), losses))


def with_rows(result, losses: dict):
    for name, row in losses.items():
        result.add_row(name, *(f"{max(loss, 0):.0%}" for loss in row.values()))
    return result


def print_qmcpack(console, result: dict) -> None:
    reached, peak = (f"{result[key] / 1e9:.0f} GB/s" for key in ("bandwidth", "peak"))
    overheads = table("I/O overhead of QMCPack", "writers", reached, peak, right=(0, 1, 2))
    for one in result["rows"]:
        overheads.add_row(str(one["writers"]), f"{one['reached']:.1%}", f"{one['peak']:.1%}")
    console.print(overheads)
    console.print(f"Each writer computes for {result['compute_s']:.1f} s between steps.")
