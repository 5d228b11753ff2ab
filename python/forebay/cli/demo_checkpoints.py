# SPDX-License-Identifier: Apache-2.0
"""The part of `forebay demo` about checkpoints: a solver and its checkpoints over time, a job that
is killed and restarted on other ranks, and every strategy on two storages."""

from dataclasses import dataclass
from pathlib import Path

from forebay import presets, restart_scenario
from forebay.errors import SkippedError

LIMIT_S = 28  # for the runs on each storage, if one round takes less
QUICK = presets.Workload(cells=8, averages=200, rounds=1)
CELLS = {False: 20, True: 12}  # across, of the killed run; by --quick


@dataclass(frozen=True)
class CheckpointDemo:
    """Both results, or the reason why there are none."""

    results: restart_scenario.RestartResults | None
    strategies: presets.PresetResults | None
    skipped: str = ""

    def to_document(self) -> dict:
        if self.results is None or self.strategies is None:
            return {"skip_reason": self.skipped}
        return {"restart": self.results.to_document(), "presets": self.strategies.to_document()}


def show(folder: Path, quick: bool) -> CheckpointDemo:
    from forebay.report.terminal import progress

    workload = QUICK if quick else presets.Workload(limit_s=LIMIT_S)
    try:
        presets.require_ranks()
    except SkippedError as why:
        return CheckpointDemo(None, None, str(why))
    with progress() as on_progress:
        results = restart_scenario.run_scenario(folder, CELLS[quick], on_progress)
        return CheckpointDemo(
            results, presets.measure(folder, presets.STORAGES["both"], workload, on_progress)
        )


def draw(demo: CheckpointDemo, folder: Path) -> list[str]:
    """Draws the plots, and returns their paths."""
    from forebay.report.presets_plot import draw_presets
    from forebay.report.timeline_plot import draw_timeline

    if demo.results is None or demo.strategies is None:
        return []
    timeline, strategies = folder / "checkpoints.png", folder / "presets.png"
    draw_timeline(demo.results.checkpointed, timeline)
    draw_presets(demo.strategies, strategies)
    return [str(timeline), str(strategies)]


def print_checkpoint_demo(console, demo: CheckpointDemo) -> None:
    from forebay.report.presets_table import print_presets
    from forebay.report.restart_tables import print_restart

    if demo.results is None or demo.strategies is None:
        console.print(f"Without checkpoints of a solver: {demo.skipped}.\n")
        return
    print_restart(console, demo.results)
    print_presets(console, demo.strategies)
