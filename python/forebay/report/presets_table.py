# SPDX-License-Identifier: Apache-2.0
"""What each way of writing checkpoints did to a solver, in the terminal."""

from forebay.presets import BASELINE, DEFAULT, Found, Storage
from forebay.report import units
from forebay.report.terminal import table

STORAGE_NAMES = {"local": "local disk", "lustre-small": "lustre-small, emulated"}
NOTE = (
    "MB/s of the slowest rank, medians of {rounds} runs. perceived: until the solver may go on; "
    "durable: until all is on storage. blocked / total: share of the time in which storage held "
    "the solver up, the wait after the last step included. {baseline}: written by hand, a file for "
    "each part, synced. {default}: what a plan that says nothing became."
)


def print_presets(console, found: Found) -> None:
    for storage in found.storages:
        if storage.skipped:
            console.print(f"Without {storage.name}: {storage.skipped}.\n")
            continue
        console.print(_table(found, storage))
    note = NOTE.format(rounds=found.rounds, baseline=BASELINE, default=DEFAULT)
    console.print(f"[dim]{note}[/]\n")


def _table(found: Found, storage: Storage):
    size = units.size(found.checkpoint_bytes)
    result = table(
        f"Checkpoints of {size} by {found.effort.ranks} ranks, {STORAGE_NAMES[storage.name]}",
        "way", "perceived MB/s", "spread", "durable MB/s", "spread", "blocked / total", "files",
        right=(1, 2, 3, 4, 5, 6), fold=0,
    )  # fmt: skip
    best = max(way.durable_mb_s.value for way in storage.ways)
    for way in storage.ways:
        is_best = way.durable_mb_s.value == best
        result.add_row(
            way.name,
            units.number(way.perceived_mb_s.value),
            _spread(way.perceived_mb_s.spread),
            f"[bold]{units.number(way.durable_mb_s.value)}[/]" if is_best
            else units.number(way.durable_mb_s.value),
            _spread(way.durable_mb_s.spread),
            f"{way.overhead.value:.0%}",
            units.count(way.files),
        )  # fmt: skip
    return result


def _spread(spread: tuple[float, float]) -> str:
    return " … ".join(units.number(one) for one in spread)
