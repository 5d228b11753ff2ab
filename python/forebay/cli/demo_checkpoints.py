# SPDX-License-Identifier: Apache-2.0
"""The part of `forebay demo` about checkpoints: a solver and its checkpoints side by side, a job
that is killed and goes on elsewhere, and every way of writing on two storages."""

from dataclasses import dataclass
from pathlib import Path

from forebay import killed_run, presets
from forebay.errors import SkippedError

LIMIT_S = 28  # for the runs on each storage, if one round takes less
QUICK = presets.Effort(cells=8, averages=200, rounds=1)
CELLS = {False: 20, True: 12}  # across, of the run that is killed; by --quick


@dataclass(frozen=True)
class Shown:
    """Both, or why there is nothing."""

    story: killed_run.Story | None
    ways: presets.Found | None
    skipped: str = ""

    def to_document(self) -> dict:
        if self.story is None or self.ways is None:
            return {"skipped": self.skipped}
        return {"restart": self.story.to_document(), "presets": self.ways.to_document()}


def show(folder: Path, quick: bool) -> Shown:
    from forebay.report.terminal import progress

    effort = QUICK if quick else presets.Effort(limit_s=LIMIT_S)
    try:
        presets.require_ranks()
    except SkippedError as why:
        return Shown(None, None, str(why))
    with progress() as on_progress:
        story = killed_run.play(folder, CELLS[quick], on_progress)
        return Shown(story, presets.measure(folder, presets.STORAGES["both"], effort, on_progress))


def draw(shown: Shown, folder: Path) -> list[str]:
    """The pictures that were drawn."""
    from forebay.report.presets_plot import draw_presets
    from forebay.report.timeline_plot import draw_timeline

    if shown.story is None or shown.ways is None:
        return []
    timeline, ways = folder / "checkpoints.png", folder / "presets.png"
    draw_timeline(shown.story.kept, timeline)
    draw_presets(shown.ways, ways)
    return [str(timeline), str(ways)]


def print_shown(console, shown: Shown) -> None:
    from forebay.report.killed_run_tables import print_story
    from forebay.report.presets_table import print_presets

    if shown.story is None or shown.ways is None:
        console.print(f"Without checkpoints of a solver: {shown.skipped}.\n")
        return
    print_story(console, shown.story)
    print_presets(console, shown.ways)
