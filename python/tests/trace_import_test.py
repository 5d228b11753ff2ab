# SPDX-License-Identifier: Apache-2.0
"""`forebay trace import` of Darshan logs and of files of dftracer, with the real native tools."""

import csv
import gzip
import json
import os
import sys
from pathlib import Path

import pytest

from forebay.trace_import import found_files


@pytest.fixture
def imported(forebay, real_tools, tmp_path):
    """imported(file) imports a file and exports the trace: the document, and a row a record."""

    def run(file) -> tuple[dict, list[dict]]:
        made = forebay("trace", "import", file, "-o", tmp_path / "run.trace", "--json", "-")
        assert made.code == 0, made.err
        exported = forebay("trace", "export", tmp_path / "run.trace", "-o", tmp_path / "run.csv")
        assert exported.code == 0, exported.err
        with open(tmp_path / "run.csv", encoding="utf-8") as text:
            return made.json, list(csv.DictReader(text))

    return run


def names_of(forebay, tmp_path) -> list[str]:
    document = forebay("trace", "show", tmp_path / "run.trace", "--json", "-").json
    return [stream["file"] for stream in document["streams"]]


def event(name: str, ts: int, **args) -> dict:
    line = {"id": 1, "name": name, "cat": "POSIX", "pid": 7, "tid": 8, "ts": ts, "dur": 3}
    return line | {"ph": "X", "args": args}


def write_events(path: Path, *events, end: str = "]") -> Path:
    path.write_text("[\n" + "".join(json.dumps(one) + "\n" for one in events) + end)
    return path


def places(rows: list[dict], *operations: str) -> list[tuple]:
    return [
        (row["I/O Op"], row["File Pos"], row["# of Bytes"])
        for row in rows
        if not operations or row["I/O Op"] in operations
    ]


START = 1_700_000_000_000_000
CALLS = (
    {"name": "FH", "cat": "dftracer", "pid": 7, "ph": "M", "args": {"name": "/d/a", "value": "h1"}},
    event("open64", START + 1_500_000, fhash="h1", flags=0, ret=5),
    event("read", START + 1_500_010, fhash="h1", fd=5, count=200, ret=100),
    event("read", START + 1_500_020, fhash="h1", fd=5, count=100, ret=100),
    event("pread64", START + 1_500_030, fhash="h1", fd=5, count=10, offset=5000, ret=10),
    event("lseek64", START + 1_500_040, fhash="h1", fd=5, offset=4096, whence=0, ret=4096),
    event("write", START + 1_500_050, fhash="h1", fd=5, count=50, ret=50),
    event("read", START + 1_500_060, fhash="h1", fd=5, count=50, ret=-1),
    event("read", START + 1_500_070, fhash="h1", fd=5, count=50, ret=50),
    event("close", START + 1_500_080, fhash="h1", fd=5, ret=0),
    event("__xstat", START, fhash="h1"),
)


def test_dftracer_positions_follow_transfers_and_seeks(imported, forebay, tmp_path):
    document, rows = imported(write_events(tmp_path / "a", *CALLS))
    assert document == {"records": 8, "sources": 1, "files": 1, "warnings": []}
    assert places(rows, "read", "write") == [
        ("read", "0", "100"),
        ("read", "100", "100"),
        ("read", "5000", "10"),
        ("write", "4096", "50"),
        ("read", "4146", "50"),
    ]
    assert rows[0]["Time(s)"] == "1.500000"
    assert rows[0]["Duration(s)"] == "0.000003"
    assert (rows[0]["Proc ID"], rows[0]["Rank"], rows[0]["Thread"]) == ("7", "", "8")
    assert names_of(forebay, tmp_path) == ["/d/a"]


def test_dftracer_file_may_be_compressed_in_several_members(imported, tmp_path):
    text = write_events(tmp_path / "a", *CALLS).read_bytes()
    (tmp_path / "b").write_bytes(gzip.compress(text[:500]) + gzip.compress(text[500:]))
    assert imported(tmp_path / "b")[0]["records"] == 8


def test_dftracer_numbers_may_be_text_and_descriptors_absent(imported, forebay, tmp_path):
    calls = (
        event("open", START, fname="a\nb", ret=5),
        event("read", START, fname="a\nb", ret="100"),
        event("read", START, fname="a\nb", ret="100"),
        event("write", START, fd=5, ret=7),
    )
    calls = [one | {"pid": "7", "tid": "8", "ts": str(one["ts"])} for one in calls]
    rows = imported(write_events(tmp_path / "a", *calls))[1]
    assert places(rows)[1:] == [("read", "0", "100"), ("read", "100", "100"), ("write", "0", "7")]
    assert set(names_of(forebay, tmp_path)) == {"a\nb"}


def test_dftracer_offset_is_unknown_without_an_open_and_when_appending(imported, tmp_path):
    calls = (
        event("read", START, fname="a", fd=4, ret=100),
        event("open", START, fname="b", flags=os.O_APPEND, ret=5),
        event("write", START, fname="b", fd=5, ret=100),
    )
    rows = imported(write_events(tmp_path / "a", *calls))[1]
    assert places(rows, "read", "write") == [("read", "", "100"), ("write", "", "100")]


def test_dftracer_incomplete_last_line_is_a_warning(imported, tmp_path):
    file = write_events(tmp_path / "a", *CALLS, end='{"id":12,"name":"re')
    document, _ = imported(file)
    assert document["records"] == 8
    assert document["warnings"] == [f"{file}: line 13: invalid JSON; this last line is skipped"]


def test_dftracer_missing_end_of_compressed_data_is_a_warning(forebay, imported, tmp_path):
    text = write_events(tmp_path / "a", *CALLS).read_bytes()
    (tmp_path / "b").write_bytes(gzip.compress(text)[:-8])
    assert "the compressed data end too early" in imported(tmp_path / "b")[0]["warnings"][0]
    printed = forebay("trace", "import", tmp_path / "b", "-o", tmp_path / "run.trace")
    assert "warning: " in printed.out


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("{", "line 3: invalid JSON"),
        (json.dumps(event("read", START, ret=1)), "line 3: invalid event: no file"),
        (json.dumps(event("read", START, fname="a", ret="x")), "line 3: invalid event"),
        (json.dumps(event("pread", START, fname="a", ret=1, offset=-5)), "exceeds the limits"),
        ("[1]", "line 3: invalid event"),
        ('{"a":' * 100_000, "line 3: invalid JSON"),
    ],
)
def test_dftracer_bad_line_is_named_and_leaves_no_trace(forebay, tmp_path, line, cause):
    good = json.dumps(CALLS[1])
    file = tmp_path / "a"
    file.write_text(f"[\n{good}\n{line}\n{good}\n")
    completed = forebay("trace", "import", file, "-o", tmp_path / "run.trace")
    assert completed.code == 1
    assert f"{file}: " in completed.err
    assert cause in completed.err
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_compressed_text_is_an_error(forebay, tmp_path):
    (tmp_path / "a").write_bytes(gzip.compress(b"File Pos,# of Bytes,I/O Op"))
    completed = forebay("trace", "import", tmp_path / "a", "-o", tmp_path / "run.trace")
    assert completed.code == 1
    assert "line 1: invalid JSON" in completed.err


def test_files_beyond_the_limit_have_no_number(imported, tmp_path, monkeypatch):
    monkeypatch.setattr(found_files, "FILES_MAX", 2)
    calls = [event("read", START, fname=f"f{i}", fd=3 + i, ret=1) for i in range(4)]
    document, rows = imported(write_events(tmp_path / "a", *calls))
    assert [row["File #"] for row in rows] == ["0", "1", "65535", "65535"]
    assert len(document["warnings"]) == 1


def test_names_of_a_text_are_refused_for_a_log(forebay, tmp_path):
    file = write_events(tmp_path / "a", *CALLS)
    words = ("trace", "import", file, "-o", tmp_path / "run.trace", "--names", "names")
    assert forebay(*words).code == 2


def darshan_head() -> bytes:
    return b"3.21".ljust(8, b"\0") + (6567223).to_bytes(8, "little")


def test_darshan_log_without_the_package_names_what_to_install(forebay, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "darshan.backend", None)
    (tmp_path / "a").write_bytes(darshan_head())
    completed = forebay("trace", "import", tmp_path / "a", "-o", tmp_path / "run.trace")
    assert completed.code == 1
    assert 'pip install "forebay[darshan]"' in completed.err


def test_darshan_segments_become_records(imported, packaged_logs, forebay, tmp_path):
    document, rows = imported(packaged_logs / "ior_hdf5_example.darshan")
    assert document["records"] == len(rows) > 0
    assert {row["I/O Op"] for row in rows} <= {"read", "write"}
    assert all(name.startswith("/") for name in names_of(forebay, tmp_path))
    streams: dict = {}
    for row in rows:
        streams.setdefault((row["Rank"], row["File #"]), []).append(float(row["Time(s)"]))
    assert all(times == sorted(times) for times in streams.values())


def test_darshan_log_without_dxt_names_the_setting(forebay, packaged_logs, tmp_path):
    words = ("trace", "import", packaged_logs / "noposix.darshan", "-o", tmp_path / "run.trace")
    completed = forebay(*words)
    assert completed.code == 1
    assert "DXT_ENABLE_IO_TRACE" in completed.err


@pytest.mark.parametrize("size", [20, 60_000])
def test_cut_darshan_log_is_an_error(forebay, packaged_logs, tmp_path, size):
    content = (packaged_logs / "dxt.darshan").read_bytes()
    (tmp_path / "a").write_bytes(content[:size])
    completed = forebay("trace", "import", tmp_path / "a", "-o", tmp_path / "run.trace")
    assert completed.code == 1
    assert f"{tmp_path / 'a'}: the " in completed.err
    assert not (tmp_path / "run.trace").exists()


@pytest.mark.parametrize(
    ("name", "reads", "writes"),
    [("nonmpi-dxt", 7822, 9830), ("flash-io-192ranks", 33792, 43904)],
)
def test_darshan_samples_have_all_segments(imported, packaged_logs, name, reads, writes):
    folder = os.environ.get("FOREBAY_SAMPLES")
    if not folder:
        pytest.skip("FOREBAY_SAMPLES does not name a directory of samples")
    rows = imported(Path(folder) / f"darshan/{name}.darshan")[1]
    operations = [row["I/O Op"] for row in rows]
    assert (operations.count("read"), operations.count("write")) == (reads, writes)
