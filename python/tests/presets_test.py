# SPDX-License-Identifier: Apache-2.0
"""`forebay flow presets`: fair runs, reasons for missing storages, and readable tables."""

import contextlib
import io
from dataclasses import replace
from pathlib import Path

import pytest

from forebay import presets
from forebay.errors import ForebayError, SkippedError
from forebay.presets import EMULATED, LOCAL, STRATEGIES, Workload
from forebay.report.presets_plot import draw_presets
from forebay.report.presets_table import print_presets

RATES = {"serial": 100.0, "brigade": 300.0}


def run_of(strategy, **changed):
    durable = RATES.get(strategy, 200.0)
    return {
        "fingerprint": "7a2eee07a81904e0",
        "files": 12,
        "perceived_mb_s": 10 * durable,
        "durable_mb_s": durable,
        "overhead": 0.25,
        "steps": [{"bytes": 24 << 20}],
    } | changed


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """Replaces runs by fakes that take no time. Returns the list of executed runs."""
    made = []

    def run_once(_mesh, checkpoints, strategy, _workload):
        made.append((checkpoints.parent.parent.name, strategy))
        return run_of(strategy)

    @contextlib.contextmanager
    def mount_machine(machine, parent):
        (parent / machine).mkdir()
        yield parent / machine

    monkeypatch.setattr(presets, "require_ranks", lambda: None)
    monkeypatch.setattr(presets, "generate", lambda *_: {"mesh": {"nodes": 9261}})
    monkeypatch.setattr(presets, "mount_machine", mount_machine)
    monkeypatch.setattr(presets, "_run_once", run_once)
    return made


def measured(folder, storages=(LOCAL, EMULATED), workload=None):
    return presets.measure(folder, storages, workload or Workload(), lambda _: None)


def test_every_strategy_runs_once_in_each_round_in_changing_order(runs, tmp_path):
    found = measured(tmp_path, (LOCAL,))
    strategies = [strategy for _, strategy in runs]
    count = len(STRATEGIES)
    rounds = [strategies[at : at + count] for at in range(0, len(strategies), count)]
    assert [set(one) for one in rounds] == [set(STRATEGIES)] * 3
    assert len({one[0] for one in rounds}) == 3
    assert found.rounds == 3
    assert found.checkpoint_bytes == 24 << 20
    assert not list(tmp_path.iterdir())


def test_rounds_beyond_the_limit_do_not_run(runs, tmp_path, monkeypatch):
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr(presets.time, "monotonic", lambda: next(clock))
    assert measured(tmp_path, (LOCAL,), Workload(limit_s=25)).rounds == 2


def test_runs_with_other_bits_are_an_error(runs, tmp_path, monkeypatch):
    def run_once(_mesh, _saved, strategy, _workload):
        return run_of(strategy, fingerprint="0" if strategy == "gather" else "1")

    monkeypatch.setattr(presets, "_run_once", run_once)
    with pytest.raises(ForebayError, match="different bits"):
        measured(tmp_path)


def test_storage_that_cannot_be_mounted_is_reported_with_the_other(runs, tmp_path, monkeypatch):
    @contextlib.contextmanager
    def mount_machine(_machine, _parent):
        raise SkippedError("mounting requires root; run it as root")
        yield

    monkeypatch.setattr(presets, "mount_machine", mount_machine)
    found = measured(tmp_path)
    assert "Without lustre-small: mounting requires root" in printed(found)
    assert {place for place, _ in runs} == {tmp_path.name}
    draw_presets(found, tmp_path / "presets.png")
    assert (tmp_path / "presets.png").stat().st_size > 10_000


def printed(found) -> str:
    from rich.console import Console

    output = io.StringIO()
    print_presets(Console(file=output, width=200), found)
    return output.getvalue()


def test_tables_have_medians_spreads_and_files_of_both_storages(runs, tmp_path):
    found = measured(tmp_path)
    text = printed(found)
    assert "Checkpoints of 24 MiB by 4 ranks, local disk" in text
    assert "lustre-small, emulated" in text
    row = next(line.split() for line in text.splitlines() if "reduced-blocking" in line)
    assert " ".join(row) == "reduced-blocking 2000 2000 … 2000 200 200 … 200 25% 12"
    draw_presets(found, tmp_path / "presets.png")
    assert (tmp_path / "presets.png").stat().st_size > 10_000


def test_command_without_mpi_is_an_error(forebay, libexec, tmp_path):
    completed = forebay("flow", "presets", "--dir", tmp_path)
    assert completed.code == 1
    assert "MPI is not installed" in completed.err


def test_real_solver_runs_with_every_strategy(real_native, tmp_path):
    real_native(presets.PROGRAM)
    workload = replace(Workload(), cells=6, averages=4, ranks=2, steps=2, every=1, rounds=1)
    found = measured(tmp_path, (LOCAL,), workload)
    (storage,) = found.storages
    assert [strategy.name for strategy in storage.strategies] == list(STRATEGIES)
    for strategy in storage.strategies:
        assert strategy.perceived_mb_s.value >= strategy.durable_mb_s.value > 0
        assert 0 < strategy.overhead.value < 1
        assert strategy.files > 1
    assert not [path for path in Path(tmp_path).iterdir() if path.name.startswith("presets")]
