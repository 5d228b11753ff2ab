# SPDX-License-Identifier: Apache-2.0
"""A solver that computes while its checkpoints are written, over time."""

from pathlib import Path

from forebay.report import style, units

BAR_HEIGHT = 0.5
ROW_IN = 0.36
BLOCKED = {"color": style.ORANGE, "hatch": "///", "edgecolor": "white", "linewidth": 0}


def draw_timeline(run: dict, file: Path) -> None:
    """Plots a document of a forebay-flow run with checkpoints."""
    report = run["checkpoint_report"]
    steps = report["steps"]
    with style.picture(file, 9.4, 2.0 + ROW_IN * (len(steps) + 1)) as figure:
        axes = figure.add_subplot()
        _draw_solver(axes, report)
        for row, step in enumerate(steps, 1):
            _draw_checkpoint(axes, row, step)
        names = ["solver", *(f"checkpoint of step {step['step']}" for step in steps)]
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)
        axes.set_xlim(0, report["steps_s"] * 1.17)  # texts stand beside the last bars
        axes.set_xlabel("seconds")
        axes.set_title(_title(run), pad=26)
        axes.legend(
            loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=3, fontsize=9, borderaxespad=0.1
        )
        style.footnote(figure, _footnote(run))


def _draw_solver(axes, report: dict) -> None:
    axes.barh(0, report["steps_s"], height=BAR_HEIGHT, color=style.BLUE, label="computing")
    for step in report["steps"]:
        axes.barh(
            0, step["perceived_s"], left=step["begun_s"], height=BAR_HEIGHT,
            label="blocked by storage" if step is report["steps"][0] else None, **BLOCKED,
        )  # fmt: skip
    axes.barh(
        0,
        report["drain_s"],
        left=report["steps_s"] - report["drain_s"],
        height=BAR_HEIGHT,
        **BLOCKED,
    )


def _draw_checkpoint(axes, row: int, step: dict) -> None:
    axes.barh(
        row, step["durable_s"], left=step["begun_s"], height=BAR_HEIGHT, color=style.SKY,
        label="until it is on storage" if row == 1 else None,
    )  # fmt: skip
    axes.annotate(
        f"{units.duration(step['durable_s'])}",
        (step["begun_s"] + step["durable_s"], row),
        xytext=(5, -0.5), textcoords="offset points", va="center", fontsize=8.5,
    )  # fmt: skip


def _title(run: dict) -> str:
    size = units.size(run["checkpoint_report"]["steps"][0]["bytes"])
    return f"A solver on {run['ranks']} ranks, and its checkpoints of {size}"


def _footnote(run: dict) -> str:
    report = run["checkpoint_report"]
    return (
        f"Written as {report['store']}. Times of a checkpoint: those of its slowest rank. Blocked: "
        f"{report['overhead']:.1%} of the time, including the wait after the last step."
    )
