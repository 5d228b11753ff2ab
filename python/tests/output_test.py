# SPDX-License-Identifier: Apache-2.0
"""Output files: never a file in a dataset, and no pipe or device if the output replaces a file.

The command fails before any work, as these tests have no native program.
"""

import json
import os
import stat
import threading

import pytest

from forebay.cli.output import write_json

DOCUMENT = [{"name": "solo", "description": "one process"}]
KINDS = {
    "hdf5": ["export", "run.fb", "--hdf5"],
    "kerchunk": ["export", "run.fb", "--kerchunk"],
    "json": ["verify", "run.fb", "--json"],
}
PLOT = ["study", "checkpoint", "--plot"]
# Files that a dataset has, and one that it has not: it may create a file of any name.
NAMES = ["commits", "owner", "data-000002.00000", "data-1000000.000000", "free-data-000001.00000",
         "new.json"]  # fmt: skip


@pytest.fixture
def dataset(tmp_path):
    """A directory that looks like a dataset, with files that must not change."""
    folder = tmp_path / "w.fb"
    folder.mkdir()
    for name in NAMES[:-1]:
        (folder / name).write_text(name)
    return folder


def content(folder) -> dict:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def args(request):
    return request.param


@pytest.mark.parametrize("name", NAMES)
def test_no_result_goes_into_a_dataset(forebay, libexec, dataset, args, name):
    before = content(dataset)
    completed = forebay(*args, dataset / name)
    assert completed.code == 2
    assert completed.err == (
        f"error: {dataset / name} is in the dataset {dataset}; name a file elsewhere\n"
    )
    assert content(dataset) == before


def test_no_plot_goes_into_a_dataset(forebay, libexec, dataset):
    completed = forebay(*PLOT, dataset / "a.png")
    assert (completed.code, "is in the dataset" in completed.err) == (2, True)


def test_no_result_goes_into_a_dataset_that_is_the_current_directory(
    forebay, libexec, dataset, args, monkeypatch
):
    monkeypatch.chdir(dataset)
    completed = forebay(*args, "data-000002.00000")
    assert (completed.code, "is in the dataset" in completed.err) == (2, True)


@pytest.mark.parametrize("what", ["file", "directory"])
def test_no_result_goes_into_a_dataset_by_a_link(forebay, libexec, dataset, args, what):
    link = dataset.parent / "link"
    link.symlink_to(dataset if what == "directory" else dataset / "commits")
    completed = forebay(*args, link / "commits" if what == "directory" else link)
    assert (completed.code, "is in the dataset" in completed.err) == (2, True)


def test_data_files_are_refused_without_commits(forebay, libexec, dataset, args):
    (dataset / "commits").unlink()
    for name in NAMES[2:-1]:
        completed = forebay(*args, dataset / name)
        assert (completed.code, "is in the dataset" in completed.err) == (2, True)


def test_names_of_data_files_are_accepted_outside_a_dataset(forebay, fake_program, tmp_path):
    fake_program("forebay-bench", DOCUMENT)
    for name in ("commits", "data-000002.00000"):
        folder = tmp_path / f"for {name}"
        folder.mkdir()
        assert forebay("bench", "--list", "--json", folder / name).code == 0
        assert json.loads((folder / name).read_text()) == DOCUMENT


@pytest.mark.parametrize("start", [KINDS["hdf5"], KINDS["kerchunk"], PLOT], ids=" ".join)
def test_output_that_replaces_a_file_refuses_a_pipe(forebay, libexec, tmp_path, start):
    fifo = tmp_path / "out.png"
    os.mkfifo(fifo)
    completed = forebay(*start, fifo)
    assert completed.code == 2
    assert completed.err == f"error: {fifo} is not a regular file; name another\n"
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_document_is_written_to_a_pipe(forebay, fake_program, tmp_path):
    fake_program("forebay-bench", DOCUMENT)
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    got = []
    reader = threading.Thread(target=lambda: got.append(fifo.read_text()), daemon=True)
    reader.start()
    completed = forebay("bench", "--list", "--json", fifo)
    reader.join(timeout=10)
    assert (completed.code, json.loads(got[0])) == (0, DOCUMENT)
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_path_that_is_not_text_is_escaped_in_json(tmp_path):
    file = tmp_path / "x.json"
    write_json({"picture": "a\udcff.png"}, str(file))
    assert json.loads(file.read_text(encoding="utf-8")) == {"picture": "a\udcff.png"}
