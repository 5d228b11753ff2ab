# SPDX-License-Identifier: Apache-2.0
"""Perceived and durable bandwidth of every way of writing checkpoints, storages side by side."""

from pathlib import Path

from forebay.presets import BASELINE, Found, Storage, Summary, Way
from forebay.report import style, units
from forebay.report.presets_table import STORAGE_NAMES

BAR_HEIGHT = 0.36
ROW_IN = 0.46
ROOM_FOR_VALUES = 3.2  # as a factor
BANDWIDTHS = (0.1, 1, 10, 100, 1000, 10000, 100000)
LOOKS = {
    "perceived_mb_s": {"color": style.SKY, "label": "perceived: until the solver may go on"},
    "durable_mb_s": {"color": style.FOREBAY, "label": "durable: until all is on storage"},
}
BASELINE_LOOKS = {"perceived_mb_s": "#F3CF80", "durable_mb_s": style.PEER}


def draw_presets(found: Found, file: Path) -> None:
    """A panel for each storage that was there, with one scale."""
    from matplotlib.patches import Patch

    shown = [storage for storage in found.storages if storage.ways]
    rows = len(shown[0].ways)
    with style.picture(file, 1.4 + 4.6 * len(shown), 2.3 + ROW_IN * rows) as figure:
        panels = figure.subplots(1, len(shown), sharex=True, sharey=True, squeeze=False)[0]
        for axes, storage in zip(panels, shown, strict=True):
            _draw_storage(axes, storage)
        panels[0].set_yticks(range(rows), [way.name for way in shown[0].ways])
        panels[0].set_ylim(rows - 0.4, -0.6)
        _set_bandwidths(panels[0], shown)
        figure.legend(
            handles=[Patch(**look) for look in LOOKS.values()],
            loc="outside upper left", ncols=2, fontsize=9.5,
        )  # fmt: skip
        style.footnote(figure, _footnote(found))


def _set_bandwidths(axes, shown: list[Storage]) -> None:
    """Ticks as people write them; room for the values beside bars."""
    ways = [way for storage in shown for way in storage.ways]
    ends = [end for way in ways for metric in LOOKS for end in getattr(way, metric).spread]
    low, high = min(ends) / 1.6, max(ends) * ROOM_FOR_VALUES
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    powers = [power for power in BANDWIDTHS if low <= power <= high]
    axes.set_xticks(powers, [units.limit(power) for power in powers])
    axes.minorticks_off()


def _draw_storage(axes, storage: Storage) -> None:
    for place, way in enumerate(storage.ways):
        for side, (metric, look) in zip((-0.5, 0.5), LOOKS.items(), strict=True):
            _draw_bar(axes, place + side * BAR_HEIGHT, way, (metric, look))
    axes.set_xlabel("MB/s (log)")
    axes.set_title(STORAGE_NAMES[storage.name])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def _draw_bar(axes, place: float, way: Way, shown: tuple[str, dict]) -> None:
    metric, look = shown
    summary: Summary = getattr(way, metric)
    colour = BASELINE_LOOKS[metric] if way.name == BASELINE else look["color"]
    axes.barh(place, summary.value, height=BAR_HEIGHT * 0.94, color=colour)
    axes.plot(summary.spread, [place, place], "-", color=style.INK, linewidth=0.9)
    axes.annotate(
        units.number(summary.value), (max(summary.spread), place),
        xytext=(5, -0.5), textcoords="offset points", va="center", fontsize=8.5,
    )  # fmt: skip


def _footnote(found: Found) -> str:
    effort = found.effort
    runs = f"{found.rounds} {'run' if found.rounds == 1 else 'runs'}"
    return (
        f"Checkpoints of {units.size(found.checkpoint_bytes)} by {effort.ranks} ranks that go on "
        f"computing, {effort.steps // effort.every} in a run; medians of {runs}, "
        "lines: least to most.\n"
        f"Orange, {BASELINE}: written by hand, a file for each part, synced before the solver goes "
        "on. All runs end with the same bits."
    )
