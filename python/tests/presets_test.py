# SPDX-License-Identifier: Apache-2.0
"""`forebay flow presets` is fair, says what it could not measure, and is readable."""

import contextlib
import io
from dataclasses import replace
from pathlib import Path

import pytest

from forebay import presets
from forebay.errors import ForebayError, SkippedError
from forebay.presets import EMULATED, LOCAL, WAYS, Effort
from forebay.report.presets_plot import draw_presets
from forebay.report.presets_table import print_presets

RATES = {"serial": 100.0, "brigade": 300.0}


def run_of(way, **changed):
    durable = RATES.get(way, 200.0)
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
    """Runs that take no time; gives the list of those that were made."""
    made = []

    def run_once(_mesh, saved, way, _effort):
        made.append((saved.parent.parent.name, way))
        return run_of(way)

    @contextlib.contextmanager
    def mounted(machine, parent):
        (parent / machine).mkdir()
        yield parent / machine

    monkeypatch.setattr(presets, "require_ranks", lambda: None)
    monkeypatch.setattr(presets, "generate", lambda *_: {"mesh": {"nodes": 9261}})
    monkeypatch.setattr(presets, "mounted", mounted)
    monkeypatch.setattr(presets, "_run_once", run_once)
    return made


def measured(folder, storages=(LOCAL, EMULATED), effort=None):
    return presets.measure(folder, storages, effort or Effort(), lambda _: None)


def test_every_way_runs_once_in_each_round_in_changing_order(runs, tmp_path):
    found = measured(tmp_path, (LOCAL,))
    ways = [way for _, way in runs]
    rounds = [ways[at : at + len(WAYS)] for at in range(0, len(ways), len(WAYS))]
    assert [set(one) for one in rounds] == [set(WAYS)] * 3
    assert len({one[0] for one in rounds}) == 3
    assert found.rounds == 3
    assert found.checkpoint_bytes == 24 << 20
    assert not list(tmp_path.iterdir())


def test_rounds_that_would_take_too_long_are_left_out(runs, tmp_path, monkeypatch):
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr(presets.time, "monotonic", lambda: next(clock))
    assert measured(tmp_path, (LOCAL,), Effort(limit_s=25)).rounds == 2


def test_runs_with_other_bits_are_an_error(runs, tmp_path, monkeypatch):
    def run_once(_mesh, _saved, way, _effort):
        return run_of(way, fingerprint="0" if way == "gather" else "1")

    monkeypatch.setattr(presets, "_run_once", run_once)
    with pytest.raises(ForebayError, match="different bits"):
        measured(tmp_path)


def test_a_storage_that_cannot_be_mounted_is_named_and_the_other_shown(runs, tmp_path, monkeypatch):
    @contextlib.contextmanager
    def mounted(_machine, _parent):
        raise SkippedError("mounting takes root; run it as root")
        yield

    monkeypatch.setattr(presets, "mounted", mounted)
    found = measured(tmp_path)
    assert "Without lustre-small: mounting takes root" in printed(found)
    assert {place for place, _ in runs} == {tmp_path.name}
    draw_presets(found, tmp_path / "presets.png")
    assert (tmp_path / "presets.png").stat().st_size > 10_000


def printed(found) -> str:
    from rich.console import Console

    output = io.StringIO()
    print_presets(Console(file=output, width=200), found)
    return output.getvalue()


def test_both_storages_are_told_with_medians_spreads_and_files(runs, tmp_path):
    found = measured(tmp_path)
    text = printed(found)
    assert "Checkpoints of 24 MiB by 4 ranks, local disk" in text
    assert "lustre-small, emulated" in text
    row = next(line.split() for line in text.splitlines() if "reduced-blocking" in line)
    assert " ".join(row) == "reduced-blocking 2000 2000 … 2000 200 200 … 200 25% 12"
    draw_presets(found, tmp_path / "presets.png")
    assert (tmp_path / "presets.png").stat().st_size > 10_000


def test_without_mpi_the_command_says_so(forebay, libexec, tmp_path):
    ran = forebay("flow", "presets", "--dir", tmp_path)
    assert ran.code == 1
    assert "there is no MPI" in ran.err


def test_the_real_solver_runs_in_every_way(real_native, tmp_path):
    real_native(presets.PROGRAM)
    effort = replace(Effort(), cells=6, averages=4, ranks=2, steps=2, every=1, rounds=1)
    found = measured(tmp_path, (LOCAL,), effort)
    (storage,) = found.storages
    assert [way.name for way in storage.ways] == list(WAYS)
    for way in storage.ways:
        assert way.perceived_mb_s.value >= way.durable_mb_s.value > 0
        assert 0 < way.overhead.value < 1
        assert way.files > 1
    assert not [path for path in Path(tmp_path).iterdir() if path.name.startswith("presets")]
