# SPDX-License-Identifier: Apache-2.0
"""Which files results may go to: none of a dataset's, and what replaces a file no pipe or device.

Everything is refused before any work: no native program is there.
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
# What a dataset has, and what it has not: any name in it may become one of its own.
NAMES = ["commits", "owner", "data-000002.00000", "data-1000000.000000", "free-data-000001.00000",
         "new.json"]  # fmt: skip


@pytest.fixture
def dataset(tmp_path):
    """A folder that looks like one, with files that must stay as they are."""
    folder = tmp_path / "w.fb"
    folder.mkdir()
    for name in NAMES[:-1]:
        (folder / name).write_text(name)
    return folder


def content(folder) -> dict:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.fixture(params=KINDS.values(), ids=KINDS)
def words(request):
    return request.param


@pytest.mark.parametrize("name", NAMES)
def test_no_result_goes_into_a_dataset(forebay, libexec, dataset, words, name):
    before = content(dataset)
    ran = forebay(*words, dataset / name)
    assert ran.code == 2
    assert ran.err == (
        f"error: {dataset / name} is in the dataset {dataset}; name a file elsewhere\n"
    )
    assert content(dataset) == before


def test_no_picture_goes_into_a_dataset(forebay, libexec, dataset):
    ran = forebay(*PLOT, dataset / "a.png")
    assert (ran.code, "is in the dataset" in ran.err) == (2, True)


def test_no_result_goes_into_the_dataset_that_is_the_current_folder(
    forebay, libexec, dataset, words, monkeypatch
):
    monkeypatch.chdir(dataset)
    ran = forebay(*words, "data-000002.00000")
    assert (ran.code, "is in the dataset" in ran.err) == (2, True)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_link_leads_nobody_into_a_dataset(forebay, libexec, dataset, words, what):
    link = dataset.parent / "link"
    link.symlink_to(dataset if what == "folder" else dataset / "commits")
    ran = forebay(*words, link / "commits" if what == "folder" else link)
    assert (ran.code, "is in the dataset" in ran.err) == (2, True)


def test_data_files_are_a_datasets_though_commits_is_lost(forebay, libexec, dataset, words):
    (dataset / "commits").unlink()
    for name in NAMES[2:-1]:
        ran = forebay(*words, dataset / name)
        assert (ran.code, "is in the dataset" in ran.err) == (2, True)


def test_such_names_are_free_where_there_is_no_dataset(forebay, answers, tmp_path):
    answers("forebay-bench", DOCUMENT)
    for name in ("commits", "data-000002.00000"):
        folder = tmp_path / f"for {name}"
        folder.mkdir()
        assert forebay("bench", "--list", "--json", folder / name).code == 0
        assert json.loads((folder / name).read_text()) == DOCUMENT


@pytest.mark.parametrize("start", [KINDS["hdf5"], KINDS["kerchunk"], PLOT], ids=" ".join)
def test_what_replaces_a_file_replaces_no_pipe(forebay, libexec, tmp_path, start):
    fifo = tmp_path / "out.png"
    os.mkfifo(fifo)
    ran = forebay(*start, fifo)
    assert ran.code == 2
    assert ran.err == f"error: {fifo} is no regular file; name another\n"
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_a_document_goes_into_a_pipe(forebay, answers, tmp_path):
    answers("forebay-bench", DOCUMENT)
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)
    got = []
    reader = threading.Thread(target=lambda: got.append(fifo.read_text()), daemon=True)
    reader.start()
    ran = forebay("bench", "--list", "--json", fifo)
    reader.join(timeout=10)
    assert (ran.code, json.loads(got[0])) == (0, DOCUMENT)
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_a_path_that_is_no_text_is_written_as_json_escapes_it(tmp_path):
    file = tmp_path / "x.json"
    write_json({"picture": "a\udcff.png"}, str(file))
    assert json.loads(file.read_text(encoding="utf-8")) == {"picture": "a\udcff.png"}
