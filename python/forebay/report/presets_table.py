# SPDX-License-Identifier: Apache-2.0
"""Results of a solver with each strategy of writing checkpoints, in the terminal."""

from forebay.presets import BASELINE, DEFAULT, PresetResults, StorageResults
from forebay.report import units
from forebay.report.terminal import table

STORAGE_NAMES = {"local": "local disk", "lustre-small": "lustre-small, emulated"}
NOTE = (
    "MB/s of the slowest rank, medians of {rounds} runs. perceived: until the solver continues; "
    "durable: until all is on storage. blocked / total: share of the time in which storage blocked "
    "the solver, including the wait after the last step. {baseline}: written by hand, a file for "
    "each part, synced. {default}: the choice for an empty plan."
)


def print_presets(console, results: PresetResults) -> None:
    for storage in results.storages:
        if storage.skipped:
            console.print(f"Without {storage.name}: {storage.skipped}.\n")
            continue
        console.print(_table(results, storage))
    note = NOTE.format(rounds=results.rounds, baseline=BASELINE, default=DEFAULT)
    console.print(f"[dim]{note}[/]\n")


def _table(results: PresetResults, storage: StorageResults):
    size = units.size(results.checkpoint_bytes)
    result = table(
        f"Checkpoints of {size} by {results.workload.ranks} ranks, {STORAGE_NAMES[storage.name]}",
        "strategy", "perceived MB/s", "spread", "durable MB/s", "spread", "blocked / total",
        "files",
        right=(1, 2, 3, 4, 5, 6), fold=0,
    )  # fmt: skip
    best = max(strategy.durable_mb_s.value for strategy in storage.strategies)
    for strategy in storage.strategies:
        is_best = strategy.durable_mb_s.value == best
        result.add_row(
            strategy.name,
            units.number(strategy.perceived_mb_s.value),
            _spread(strategy.perceived_mb_s.spread),
            f"[bold]{units.number(strategy.durable_mb_s.value)}[/]" if is_best
            else units.number(strategy.durable_mb_s.value),
            _spread(strategy.durable_mb_s.spread),
            f"{strategy.overhead.value:.0%}",
            units.count(strategy.files),
        )  # fmt: skip
    return result


def _spread(spread: tuple[float, float]) -> str:
    return " … ".join(units.number(one) for one in spread)
