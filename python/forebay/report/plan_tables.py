# SPDX-License-Identifier: Apache-2.0
"""Plans for a machine as a table."""

from forebay.report import units
from forebay.report.terminal import table

SHOWN = 4  # the fastest; of other strategies only the best


def print_plans(console, result: dict) -> None:
    """Prints a document of planning.plan_job()."""
    ranks = f"{units.count(result['ranks'])} ranks on {units.count(result['nodes'])} nodes"
    console.print(
        f"{result['kernel']} on {result['machine']}: {ranks}, {result['steps']} steps, "
        f"{units.size(result['bytes'])}; simulated ({result['method']}), nothing was run",
        style="dim",
        soft_wrap=True,
    )
    columns = ("plan", "writers", "files", "step durable", "MB/s", "blocked", "overhead", "memory")
    shown = table("Plans, the fastest first", *columns, right=tuple(range(1, len(columns))))
    best = result["best"]
    for one in _shown(result):
        plan = one["plan"]
        name = plan["strategy"] + (" (default)" if one is result["default"] else "")
        shown.add_row(
            f"[bold green]{name}[/]" if one is best else name,
            units.count(plan["writers"]),
            units.count(plan["files"]),
            units.duration(one["durable_s"]),
            units.number(one["mb_per_s"]),
            units.duration(one["perceived_s"]),
            f"{one['overhead']:.1%}",
            units.size(one["memory_bytes"]),
        )
    console.print(shown)
    if result["refused"]:
        console.print(f"[dim]{len(result['refused'])} plans left out: {result['refused'][0]}[/]")
    console.print(_advice(result), soft_wrap=True)


def _shown(result: dict) -> list[dict]:
    seen: set[str] = set()
    shown = []
    for number, one in enumerate(result["plans"]):
        strategy = one["plan"]["strategy"]
        is_marked = one is result["best"] or one is result["default"]
        if number < SHOWN or is_marked or strategy not in seen:
            shown.append(one)
        seen.add(strategy)
    return shown


def _advice(result: dict) -> str:
    best, default = result["best"], result["default"]
    plan = best["plan"]
    writers, files = units.items(plan["writers"], "writer"), units.items(plan["files"], "file")
    text = f"Best: {plan['strategy']}, {writers}, {files}"
    if default is None:
        return f"{text}. The default of the library does not work: {result['default_error']}"
    if best is default:
        return f"{text}, which the library chooses by itself."
    gain = default["total_s"] / best["total_s"]
    return f"{text}: {gain:.2f} times as fast as the default of the library."
