# SPDX-License-Identifier: Apache-2.0
"""`forebay study`: results of simulated cells, and the real program if it is built."""

import pytest

from forebay import checkpoint_study
from forebay.cli.study import BYTES_MAX, RANKS
from forebay.errors import NativeError

STEP_MB = 100
needs_tools = pytest.mark.usefixtures("real_tools")


def cell(strategy, writers, files, mb_per_s):
    durable_s = STEP_MB / mb_per_s
    return {
        "strategy": strategy,
        "writers": writers,
        "files": files,
        "files_opened_s": 0.001,
        "handed_off_s": 0,
        "written_s": durable_s,
        "durable_s": durable_s,
        "mb_per_s": mb_per_s,
    }


def machine(name, rates, own_files=200):
    """A machine with these rates of reduced-blocking, by writers and files."""
    cells = [cell("reduced-blocking", *shape, rate) for shape, rate in rates.items()]
    cells += [cell("file-per-process", 16, 16, own_files)]
    cells += [cell("brigade", 4, 4, 390), cell("gather", 4, 4, 312)]
    shared = cell("reduced-blocking", 16, 1, 150)
    return {"name": name, "about": "", "nodes": 4, "cells": cells, "shared": shared}


LUSTRE = machine("lustre-small", {(1, 1): 100, (4, 1): 200, (4, 4): 395, (8, 4): 300, (8, 8): 400})
PVFS = machine("pvfs-small", {(1, 1): 400, (4, 1): 400, (4, 4): 300, (8, 4): 400, (8, 8): 404})
DOCUMENT = {
    "ranks": 16,
    "bytes_per_rank": 6_250_000,
    "sizes": "equal",
    "step_bytes": 100_000_000,
    "machines": [LUSTRE, PVFS],
}


def test_best_cell_is_the_smallest_of_equal_cells():
    assert checkpoint_study.shape_of(checkpoint_study.sweet_spot(LUSTRE)) == (4, 4)
    assert checkpoint_study.shape_of(checkpoint_study.sweet_spot(PVFS)) == (1, 1)


def test_best_of_equal_cells_has_files_that_are_not_shared():
    cells = [cell("baton", 2, 1, 100), cell("baton", 8, 8, 99)]
    assert checkpoint_study.best_of(cells)["files"] == 8


def test_loss_is_relative_to_the_machines_own_best_cell():
    on_lustre, on_pvfs = checkpoint_study.loss_matrix([LUSTRE, PVFS])
    assert on_lustre == pytest.approx([0, 1 - 100 / 395])
    assert on_pvfs == pytest.approx([1 - 300 / 400, 0])


def test_orderings_have_factors_and_verdicts():
    found = checkpoint_study.strategy_claims(LUSTRE)
    factors = [one.factor for one in found]
    assert factors == pytest.approx([400 / 200, 400 / 150, 395 / 200, 390 / 312])
    assert [one.is_satisfied for one in found] == [True, True, True, True]
    slow = machine("lustre-small", {(4, 4): 395, (4, 1): 390}, own_files=390)
    assert [one.is_satisfied for one in checkpoint_study.strategy_claims(slow)] == [
        False,
        True,
        False,
        True,
    ]


def test_results_are_rows_with_goals():
    rows = {row["id"]: row for row in checkpoint_study.results_of(DOCUMENT)["results"]}
    assert (rows["ckpt.pfs.ordering"]["value"], rows["ckpt.pfs.ordering"]["goal"]) == (4, 4)
    assert (rows["ckpt.pfs.sweet_spot"]["value"], rows["ckpt.pfs.sweet_spot"]["goal"]) == (2, 2)
    assert all(row["met"] and row["better"] == "higher" for row in rows.values())


def test_missing_simulations_are_left_out_with_a_reason():
    found = checkpoint_study.results_of({**DOCUMENT, "machines": [PVFS]})
    assert found["results"] == []
    assert "lustre-small" in found["skipped"]["ckpt.pfs.ordering"]
    assert "two machines" in found["skipped"]["ckpt.pfs.sweet_spot"]


def test_one_rank_has_no_orderings():
    alone = {"nodes": 1, "about": "", "name": "lustre-small", "shared": cell("serial", 1, 1, 100)}
    names = ("file-per-process", "reduced-blocking", "brigade", "gather")
    alone["cells"] = [cell(name, 1, 1, 100) for name in names]
    found = checkpoint_study.report_of({**DOCUMENT, "ranks": 1, "machines": [alone]})
    assert found["orderings"] == []
    assert "at least 16 ranks" in found["skipped"]["ckpt.pfs.ordering"]


def test_options_are_passed_on(forebay, fake_tools):
    asked = {}
    fake_tools(study_checkpoint=lambda **options: asked.update(options) or DOCUMENT)
    words = ("--ranks", 8, "--bytes", 800, "--sizes", "exponential", "--preset", "baton")
    forebay("study", "checkpoint", *words, "--machine", "nfs", "--machine", "my.toml")
    assert callable(asked.pop("progress"))
    assert asked == {
        "machines": ("nfs", "my.toml"),
        "ranks": 8,
        "nodes": None,
        "bytes_per_rank": 800,
        "sizes": "exponential",
        "strategies": ("baton",),
    }


def test_tables_show_cells_orderings_and_losses(forebay, fake_tools):
    fake_tools(study_checkpoint=DOCUMENT)
    completed = forebay("study", "checkpoint", "--ranks", "16")
    assert completed.code == 0, completed.err
    for args in (
        "▸395",
        "▸400",
        "one shared file",
        "Orderings",
        "Loss in %",
        "best of pvfs-small",
    ):
        assert args in completed.out
    assert "ckpt.pfs.ordering: 4 orderings" in completed.out
    assert "ckpt.pfs.sweet_spot: 2 machines" in completed.out


def test_json_has_everything_and_nothing_else_is_printed(forebay, fake_tools):
    fake_tools(study_checkpoint=DOCUMENT)
    completed = forebay("study", "checkpoint", "--json", "-")
    assert [row["id"] for row in completed.json["results"]] == [
        "ckpt.pfs.ordering",
        "ckpt.pfs.sweet_spot",
    ]
    assert completed.json["machines"][0]["best"]["writers"] == 4
    assert len(completed.json["orderings"]) == 4
    assert completed.json["parameters"]["ranks"] == 16


def test_tables_are_plotted(forebay, fake_tools, tmp_path):
    fake_tools(study_checkpoint=DOCUMENT)
    file = tmp_path / "cells.png"
    assert forebay("study", "checkpoint", "--plot", file).code == 0
    assert file.read_bytes().startswith(b"\x89PNG")


def test_invalid_size_is_refused(forebay):
    completed = forebay("study", "checkpoint", "--bytes", "many")
    assert completed.code == 2
    assert "--bytes: 'many' is not a size" in completed.err


@pytest.mark.parametrize(
    ("args", "text"),
    [
        (("--ranks", "1025"), "'--ranks': 1025 is not in the range 1<=x<=1024"),
        (("--ranks", "0"), "'--ranks': 0 is not in the range 1<=x<=1024"),
        (("--nodes", "0"), "'--nodes': 0 is not in the range 1<=x<=1024"),
        (("--bytes", "0"), "--bytes must be from 8 B to 1 GiB, not '0'"),
        (("--bytes", "7"), "--bytes must be from 8 B to 1 GiB, not '7'"),
        (("--bytes", "1TiB"), "--bytes must be from 8 B to 1 GiB, not '1TiB'"),
    ],
)
def test_a_number_out_of_range_is_refused_with_the_range(forebay, libexec, args, text):
    completed = forebay("study", "checkpoint", *args)
    assert completed.code == 2
    assert text in completed.err


@pytest.mark.parametrize(
    ("option", "most"),
    [("ranks", RANKS.max), ("nodes", RANKS.max), ("bytes_per_rank", BYTES_MAX)],
)
def test_the_native_tool_has_the_same_ranges(real_tools, option, most):
    question = {"machines": ["nfs"], "ranks": 2, "bytes_per_rank": 8, "strategies": ["serial"]}
    assert real_tools.study_checkpoint(**question | {option: most})["machines"]
    with pytest.raises(NativeError, match="simulate a checkpoint: "):
        real_tools.study_checkpoint(**question | {option: most + 1})


@needs_tools
def test_machine_without_costs_is_refused(forebay):
    completed = forebay("study", "checkpoint", "--machine", "local", "--ranks", "4")
    assert completed.code == 1
    assert "machine local: a step takes no time there" in completed.err


@needs_tools
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_real_program_simulates_few_ranks(forebay, tmp_path, ranks):
    picture = tmp_path / "cells.png"
    args = ("--ranks", ranks, "--bytes", "64KiB", "--plot", picture)
    completed = forebay("study", "checkpoint", *args)
    assert completed.code == 0, completed.err
    assert "Orderings" not in completed.out
    assert picture.exists()


@needs_tools
def test_real_program_simulates_known_machines_only(forebay):
    # With fewer ranks the syncs, which all plans have, hide some of the differences.
    completed = forebay("study", "checkpoint", "--ranks", "256", "--bytes", "64KiB", "--json", "-")
    assert completed.code == 0, completed.err
    assert len(completed.json["machines"]) == 3
    assert completed.json["results"][0]["value"] == 3
    refused = forebay("study", "checkpoint", "--machine", "no-such-machine")
    assert refused.code == 1
    assert "no-such-machine" in refused.err
