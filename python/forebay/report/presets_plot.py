# SPDX-License-Identifier: Apache-2.0
"""Perceived and durable bandwidth of checkpoints with every strategy, storages side by side."""

from pathlib import Path

from forebay.presets import BASELINE, PresetResults, Statistics, StorageResults, StrategyResult
from forebay.report import style, units
from forebay.report.presets_table import STORAGE_NAMES

BAR_HEIGHT = 0.36
ROW_IN = 0.46
ROOM_FOR_VALUES = 3.2  # as a factor
BANDWIDTHS = (0.1, 1, 10, 100, 1000, 10000, 100000)
LOOKS = {
    "perceived_mb_s": {"color": style.SKY, "label": "perceived: until the solver continues"},
    "durable_mb_s": {"color": style.FOREBAY, "label": "durable: until all is on storage"},
}
BASELINE_STYLES = {"perceived_mb_s": "#F3CF80", "durable_mb_s": style.PEER}


def draw_presets(results: PresetResults, file: Path) -> None:
    """A panel for each measured storage, with one scale."""
    from matplotlib.patches import Patch

    shown = [storage for storage in results.storages if storage.strategies]
    rows = len(shown[0].strategies)
    with style.picture(file, 1.4 + 4.6 * len(shown), 2.3 + ROW_IN * rows) as figure:
        panels = figure.subplots(1, len(shown), sharex=True, sharey=True, squeeze=False)[0]
        for axes, storage in zip(panels, shown, strict=True):
            _draw_storage(axes, storage)
        panels[0].set_yticks(range(rows), [strategy.name for strategy in shown[0].strategies])
        panels[0].set_ylim(rows - 0.4, -0.6)
        _set_bandwidths(panels[0], shown)
        figure.legend(
            handles=[Patch(**line_style) for line_style in LOOKS.values()],
            loc=style.outside("upper left"), ncols=2, fontsize=9.5,
        )  # fmt: skip
        style.footnote(figure, _footnote(results))


def _set_bandwidths(axes, shown: list[StorageResults]) -> None:
    """Ticks without exponents, and room for the values beside bars."""
    strategies = [strategy for storage in shown for strategy in storage.strategies]
    ends = [
        end
        for strategy in strategies
        for metric in LOOKS
        for end in getattr(strategy, metric).spread
    ]
    low, high = min(ends) / 1.6, max(ends) * ROOM_FOR_VALUES
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    powers = [power for power in BANDWIDTHS if low <= power <= high]
    axes.set_xticks(powers, [units.limit(power) for power in powers])
    axes.minorticks_off()


def _draw_storage(axes, storage: StorageResults) -> None:
    for place, strategy in enumerate(storage.strategies):
        for side, (metric, line_style) in zip((-0.5, 0.5), LOOKS.items(), strict=True):
            _draw_bar(axes, place + side * BAR_HEIGHT, strategy, (metric, line_style))
    axes.set_xlabel("MB/s (log)")
    axes.set_title(STORAGE_NAMES[storage.name])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def _draw_bar(axes, place: float, strategy: StrategyResult, shown: tuple[str, dict]) -> None:
    metric, line_style = shown
    summary: Statistics = getattr(strategy, metric)
    color = BASELINE_STYLES[metric] if strategy.name == BASELINE else line_style["color"]
    axes.barh(place, summary.value, height=BAR_HEIGHT * 0.94, color=color)
    axes.plot(summary.spread, [place, place], "-", color=style.INK, linewidth=0.9)
    axes.annotate(
        units.number(summary.value), (max(summary.spread), place),
        xytext=(5, -0.5), textcoords="offset points", va="center", fontsize=8.5,
    )  # fmt: skip


def _footnote(results: PresetResults) -> str:
    workload = results.workload
    runs = f"{results.rounds} {'run' if results.rounds == 1 else 'runs'}"
    return (
        f"Checkpoints of {units.size(results.checkpoint_bytes)} by {workload.ranks} ranks that "
        f"keep computing, {workload.steps // workload.every} in a run; medians of {runs}, "
        "lines: minimum to maximum.\n"
        f"Orange, {BASELINE}: written by hand, a file for each part, synced before the solver "
        "continues. All runs end with the same bits."
    )
