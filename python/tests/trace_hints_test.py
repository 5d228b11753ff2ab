# SPDX-License-Identifier: Apache-2.0
"""`forebay trace hints`: hint files from made documents, and from real traces."""

import fnmatch
import os
import tomllib
from pathlib import Path

import pytest

from forebay import trace_hints

STREAM = {"file": "/d/a", "host": "", "program": "", "process": 7, "rank": None, "thread": 8}


def stream(file: str = "/d/a", count: int = 200, **reads) -> dict:
    known = {"count": count, "signature": f"read {{{count} x (4096 i, 1024)}}"}
    return STREAM | {"file": file, "reads": known | {"explained_share": 1.0} | reads}


@pytest.fixture
def hints(forebay, fake_tools, tmp_path):
    """hints(*streams) writes a hint file: its tables, and what the command prints."""

    def run(*streams, words=()) -> tuple[list[dict], str]:
        fake_tools(show_trace={"streams": streams})
        completed = forebay("trace", "hints", "a.trace", "-o", tmp_path / "a.hints", *words)
        assert completed.code == 0, completed.err
        document = tomllib.loads((tmp_path / "a.hints").read_text(encoding="utf-8"))
        assert document["format"] == 1
        return document["hint"], completed.out

    return run


def test_hint_has_the_fields_of_the_page(hints):
    assert hints(stream(explained_share=0.98))[0] == [
        {
            "file": "/d/a",
            "signature": "read {200 x (4096 i, 1024)}",
            "reads": 200,
            "explained": 0.98,
        }
    ]


def test_streams_of_a_file_are_ordered_by_their_reads(hints):
    found, printed = hints(stream(count=5), stream("/d/b", 50), stream(count=20), stream(count=20))
    assert [(one["file"], one["reads"]) for one in found] == [
        ("/d/a", 20),
        ("/d/a", 5),
        ("/d/b", 50),
    ]
    assert "3 hints\n1 stream left out: the same reads as another stream of the file" in printed


def test_streams_without_value_are_left_out_with_the_reason(hints):
    writes = STREAM | {"reads": None}
    unknown = STREAM | {"reads": {"count": 9, "signature": None, "error": "too many items"}}
    random = stream(explained_share=0.3, signature="read [1 2]")
    others = (writes, stream(count=3), unknown, random, stream(""), stream("/d/\ufffd"))
    found, printed = hints(stream(), *others)
    assert len(found) == 1
    assert printed.splitlines()[1:] == [
        "2 streams left out: fewer than 4 reads",
        "1 stream left out: no signature",
        "1 stream left out: less than 0.9 of the reads are explained",
        "2 streams left out: no file name in UTF-8",
    ]
    assert len(hints(stream(), random, words=("--min-explained", "0.25"))[0]) == 2


def test_calls_of_mpi_io_are_left_out_if_their_reads_were_recorded(hints):
    calls = stream(signature="read {9 x (8 i, 8)}") | {"interface": "MPI-IO"}
    found, printed = hints(stream(), calls)
    assert len(found) == 1
    assert "1 stream left out: calls of MPI-IO, whose reads are in other streams" in printed
    assert len(hints(calls)[0]) == 1


def test_hints_with_most_reads_are_within_the_limits_of_a_file(hints, monkeypatch):
    streams = [stream(f"/d/{i}", 5 + i % 7) for i in range(20)]
    monkeypatch.setattr(trace_hints, "HINTS_MAX", 6)
    found, printed = hints(*streams)
    assert [one["reads"] for one in found] == [9, 10, 11, 10, 11, 10]
    assert "14 streams left out: beyond the limits of a hint file" in printed
    monkeypatch.setattr(trace_hints, "BYTES_MAX", 300)
    found = hints(*streams)[0]
    assert len(found) in (2, 3)
    assert len(trace_hints.to_toml(found).encode()) <= 300


def test_trace_without_a_hint_is_an_error_and_leaves_no_file(forebay, fake_tools, tmp_path):
    fake_tools(show_trace={"streams": [stream(count=3)]})
    completed = forebay("trace", "hints", "a.trace", "-o", tmp_path / "a.hints")
    assert completed.code == 1
    assert "1 stream left out: fewer than 4 reads" in completed.err
    assert not (tmp_path / "a.hints").exists()


@pytest.mark.parametrize(
    "name", ["a b", "[1]*?", 'quote " tab \t line \n del \x7f esc \x1b', "é😀"]
)
def test_name_is_escaped_and_matches_itself(hints, name):
    pattern = hints(stream(name))[0][0]["file"]
    assert fnmatch.fnmatchcase(name, pattern)
    assert pattern == name or "[" in pattern


def test_backslash_is_doubled_for_fnmatch(hints):
    assert hints(stream("a\\b"))[0][0]["file"] == "a\\\\b"


def test_real_log_becomes_a_hint_file(forebay, real_tools, tmp_path):
    folder = os.environ.get("FOREBAY_SAMPLES")
    if not folder:
        pytest.skip("FOREBAY_SAMPLES does not name a directory of samples")
    trace, file = tmp_path / "run.trace", tmp_path / "run.hints"
    log = Path(folder) / "darshan/flash-io-192ranks.darshan"
    assert forebay("trace", "import", log, "-o", trace).code == 0
    document = forebay("trace", "hints", trace, "-o", file, "--json", "-").json
    assert document["hints"] == tomllib.loads(file.read_text())["hint"]
    assert all(one["signature"].startswith("read ") for one in document["hints"])
    assert all(one["explained"] >= 0.9 and one["reads"] >= 4 for one in document["hints"])
