# SPDX-License-Identifier: Apache-2.0
"""Text of traces: the sample trace of the seed, round trips of random records, invalid lines."""

import random

import pytest

from forebay.errors import ForebayError
from forebay.trace_import import records, text_log
from forebay.trace_import.found_files import FoundFiles

SAMPLE_OFFSETS = [(i // 2) * 8192 + (i % 2) * 2048 for i in range(23)]
HEADER = "File Pos,# of Bytes,I/O Op,Time(s),Rank,File #,Flags\n"


@pytest.fixture
def parsed(tmp_path):
    """parsed(text): the calls of a text."""

    def run(text: str | bytes) -> list[records.Call]:
        (tmp_path / "in").write_bytes(text if isinstance(text, bytes) else text.encode())
        entries = text_log.read(tmp_path / "in", FoundFiles(), lambda _: None)
        return list(records.unpack(b"".join(entries)))

    return run


def test_sample_trace_of_the_seed_has_its_calls(parsed):
    lines = "".join(
        f"29074\t0\t16\t{offset}\t1024\t{7.501304 + i * 0.04:.6f}\tMPI_READALL\n"
        for i, offset in enumerate(SAMPLE_OFFSETS)
    )
    calls = parsed("Proc ID\tRank\tFile #\tFile Pos\t# of Bytes\tTime(s)\tI/O Op\n" + lines)
    assert [call.offset for call in calls] == SAMPLE_OFFSETS
    assert calls[0] == records.Call(1, 29074, 0, 0, 16, 0, 1024, 7_501_304_000, 0, 1)


def random_call(source: random.Random) -> records.Call:
    def number(bits: int) -> int:
        return source.getrandbits(source.randint(1, bits))

    size = number(63)
    flags = source.randrange(32)
    return records.Call(
        operation=source.randrange(6),
        process=number(64),
        thread=number(64),
        rank=source.choice([None, number(32)]),
        file=number(16),
        offset=None if flags & records.OFFSET_UNKNOWN else min(number(63), 2**63 - 1 - size),
        size=size,
        begin_ns=None if flags & records.TIME_UNKNOWN else number(63),
        duration_ns=number(32),
        flags=flags,
    )


def test_random_records_are_read_as_written(parsed):
    source = random.Random(1)
    calls = [random_call(source) for _ in range(2000)]
    header, *lines = text_log.write(calls)
    assert parsed("".join([header, "\r\n", *lines])) == calls
    assert parsed("".join([header, *lines]).replace(",", " \t")) == calls


def test_absent_columns_have_defaults(parsed):
    found = parsed("I/O Op , # of Bytes, File Pos\npwrite64, 7, 9\n")
    assert found == [records.Call(2, offset=9, size=7, flags=records.TIME_UNKNOWN)]


@pytest.mark.parametrize(
    ("name", "operation", "flags"),
    [
        ("fread", "read", 0),
        ("MPI_File_iread_at", "read", 0),
        ("MPI_File_write_at_all_begin", "write", records.COLLECTIVE),
        ("MPI_File_read_ordered", "read", records.COLLECTIVE),
        ("lseek64", "seek", 0),
        ("fdatasync", "sync", 0),
        ("OPEN", "open", 0),
        ("fclose", "close", 0),
    ],
)
def test_name_of_a_function_is_an_operation(parsed, name, operation, flags):
    (call,) = parsed(f"File Pos,# of Bytes,Time(s),I/O Op\n0,0,1,{name}")
    assert (records.OPERATIONS[call.operation], call.flags) == (operation, flags)


def test_decimals_beyond_nanoseconds_are_ignored(parsed):
    (call,) = parsed("File Pos,# of Bytes,Time(s),I/O Op\n0,0,1.0000000019,read")
    assert call.begin_ns == 1_000_000_001
    assert text_log.seconds(1_000_000_001) == "1.000000001"
    assert text_log.seconds(1_000_000_100) == "1.0000001"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "no line with the names of columns"),
        ("File Pos,Bytes", "line 1: unknown column `Bytes`; valid: Proc ID, "),
        ("File Pos,I/O Op", "no column `# of Bytes`"),
        ("File Pos,# of Bytes,I/O Op,File Pos", "column `File Pos` twice"),
        (HEADER + "1,2,read", "line 2: 3 columns instead of 7"),
        (HEADER + "1,2,read,1,0,0,0\nx,2,read,1,0,0,0", "line 3: column `File Pos`: invalid"),
        (b"a" * 100_000, "too long: this is no text"),
        (b"\x7fELF\x02\x01\xff\xfe", "line 1: unknown column"),
    ],
)
def test_invalid_text_is_refused_with_its_line(parsed, text, cause):
    with pytest.raises(ForebayError, match=f".*{cause}"):
        parsed(text)


@pytest.mark.parametrize(
    "line",
    [
        "-1,2,read,1,0,0,0",
        "1,,read,1,0,0,0",
        "1,2,stat,1,0,0,0",
        "1,2,read,.,0,0,0",
        "1,2,read,1e5,0,0,0",
        "1,2,read,-1,0,0,0",
        "1,2,read,1.2.3,0,0,0",
        "1,2,read,1,-1,0,0",
        "1,2,read,1,0,65536,0",
        "1,2,read,1,0,0,32",
        "1,2,read,9223372037,0,0,0",
        "9223372036854775807,1,read,1,0,0,0",
        "1,2,read,1,0,0,",
        "1,99999999999999999999,read,1,0,0,0",
        "1,2,read,1,4294967296,0,0",
        "٣,2,read,1,0,0,0",
    ],
)
def test_invalid_number_is_refused_with_its_line(parsed, line):
    with pytest.raises(ForebayError, match="line 2: "):
        parsed(HEADER + line)


def test_names_of_a_text_are_those_of_its_files(forebay, real_tools, tmp_path):
    (tmp_path / "a").write_text(HEADER + "1,2,read,1,0,2,0\n1,2,read,1,0,65535,0\n")
    (tmp_path / "names").write_text("/d/a\n/d/b\n")
    words = ("trace", "import", tmp_path / "a", "-o", tmp_path / "run.trace")
    assert forebay(*words, "--names", tmp_path / "names", "--json", "-").json["files"] == 3
    document = forebay("trace", "show", tmp_path / "run.trace", "--json", "-").json
    assert [stream["file"] for stream in document["streams"]] == ["file 2", ""]
    for missing in (("--names", tmp_path / "no"), ()):
        completed = forebay(*words[:2], tmp_path / "no", *words[3:], *missing)
        assert completed.code == 1
        assert f"cannot read {tmp_path / 'no'}" in completed.err


def test_cut_and_damaged_traces_are_exported_as_far_as_possible(forebay, real_tools, tmp_path):
    trace, text = tmp_path / "run.trace", tmp_path / "out.csv"
    (tmp_path / "a").write_text(HEADER + "1,2,read,1,0,0,0\n" + "1,2,read,1,1,0,0\n" * 9)
    assert forebay("trace", "import", tmp_path / "a", "-o", trace).code == 0
    content = bytearray(trace.read_bytes())
    content[-1] ^= 1
    trace.write_bytes(content)
    assert forebay("trace", "export", trace, "-o", text).code == 1
    assert not text.exists()
    completed = forebay("trace", "export", trace, "-o", text, "--recover")
    assert "warning: " in completed.out
    assert len(text.read_text().splitlines()) == 2
