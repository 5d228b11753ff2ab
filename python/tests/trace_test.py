# SPDX-License-Identifier: Apache-2.0
"""`forebay trace`: tables and plots of made results, and the real native tools if built."""

import pytest

from forebay.errors import ForebayError

READS = {
    "count": 200,
    "bytes": 204800,
    "first_ns": 0,
    "last_ns": 2_000_000_000,
    "signature": "read {200 x (4096 i, 1024)}",
    "items": 1,
    "explained_share": 1.0,
    "class": "fixed stride; fixed small requests; single; fixed interval; read",
    "points": [[i * 10_000_000, i * 4096, 1024] for i in range(200)],
}
STREAM = {
    "file": "run [1].dat",
    "host": "a",
    "program": "solver",
    "process": 7,
    "rank": 3,
    "thread": 8,
    "other_records": 1,
    "reads": READS,
    "writes": None,
}
DOCUMENT = {
    "start_ns": 0,
    "records": 201,
    "lost_records": 5,
    "skipped_bytes": 0,
    "warnings": ["read run.trace at offset 96: the block ends too early"],
    "streams": [STREAM],
}
SAMPLE = (
    "Proc ID\tRank\tFile #\tFile Pos\t# of Bytes\tTime(s)\tI/O Op\n"
    "29074\t0\t0\t0\t1024\t7.501304\tMPI_READALL\n"
    "29074\t0\t0\t2048\t1024\t7.545113\tMPI_READALL\n"
    "29074\t0\t0\t8192\t1024\t7.588820\tMPI_READALL\n"
    "29074\t0\t0\t10240\t1024\t7.629080\tMPI_READALL\n"
    "29074\t0\t0\t16384\t1024\t7.674620\tMPI_READALL\n"
    "29074\t0\t0\t18432\t1024\t7.717406\tMPI_READALL\n"
)


@pytest.mark.parametrize("command", ["show", "signature", "hints", "simulate", "export"])
def test_command_passes_progress(command, forebay, fake_tools, tmp_path):
    asked = []

    def tool(*_arguments, **options):
        asked.append(options["progress"])
        raise ForebayError("ended by the test")

    fake_tools(show_trace=tool, simulate_trace=tool, export_trace_records=tool)
    output = ["-o", tmp_path / "out"] if command in ("hints", "export") else []
    forebay("trace", command, "run.trace", *output)
    assert callable(asked[0])


def test_show_has_a_row_and_a_signature_for_each_stream(forebay, fake_tools):
    fake_tools(show_trace=DOCUMENT)
    completed = forebay("trace", "show", "run.trace")
    assert completed.code == 0
    for text in (
        "run [1].dat",
        "200 reads",
        "200 KiB",
        "100 %",
        "read {200 x (4096 i, 1024)}",
        "fixed stride",
        "5 records lost",
        "warning: read run.trace at offset 96",
    ):
        assert text in completed.out


def test_file_of_mpi_io_is_shown_with_its_view(forebay, fake_tools):
    view = {"displacement": 0, "etype_bytes": 1, "filetype_bytes": 1, "filetype_extent": 1}
    stream = STREAM | {"interface": "MPI-IO", "view": view}
    fake_tools(show_trace=DOCUMENT | {"streams": [stream]})
    assert "# run [1].dat (MPI-IO): rank 3" in forebay("trace", "signature", "run.trace").out
    stream["view"] = view | {"displacement": 64, "filetype_bytes": 8, "filetype_extent": 32}
    fake_tools(show_trace=DOCUMENT | {"streams": [stream]})
    printed = forebay("trace", "signature", "run.trace").out
    assert "# run [1].dat (MPI-IO, view at 64: 8 of every 32 bytes): rank 3" in printed


def test_signature_is_a_line_after_a_comment(forebay, fake_tools):
    fake_tools(show_trace=DOCUMENT)
    completed = forebay("trace", "signature", "run.trace")
    assert completed.out.splitlines() == [
        "# run [1].dat: rank 3, thread 8, 200 reads, 100 % in loops; fixed stride; fixed small "
        "requests; single; fixed interval; read",
        "read {200 x (4096 i, 1024)}",
        "# 5 records lost: the program called faster than they were written",
        "# warning: read run.trace at offset 96: the block ends too early",
    ]
    assert forebay("trace", "signature", "run.trace", "--json", "-").json == DOCUMENT


def test_long_signature_is_cut_in_the_table_only(forebay, fake_tools):
    long = "read [" + ", ".join(f"{i} 1" for i in range(500)) + "]"
    reads = READS | {"signature": long, "explained_share": 0.0}
    fake_tools(show_trace=DOCUMENT | {"streams": [STREAM | {"reads": reads}]})
    assert "characters)" in forebay("trace", "show", "run.trace").out
    assert long in forebay("trace", "signature", "run.trace").out


def test_stream_without_signature_has_the_reason(forebay, fake_tools):
    reads = {
        key: READS[key] for key in ("count", "bytes", "first_ns", "last_ns", "class", "points")
    }
    reads |= {"signature": None, "error": "too many items"}
    fake_tools(show_trace=DOCUMENT | {"streams": [STREAM | {"reads": reads}]})
    for command in ("show", "signature"):
        out = forebay("trace", command, "run.trace").out
        assert "no signature: too many items" in out
        assert "fixed stride; fixed small" in out


def test_show_plots_offsets_over_time(forebay, fake_tools, tmp_path):
    fake_tools(show_trace=DOCUMENT)
    assert forebay("trace", "show", "run.trace", "--plot", str(tmp_path / "a.png")).code == 0
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_empty_trace_has_an_empty_table_and_plot(forebay, fake_tools, tmp_path):
    fake_tools(show_trace=DOCUMENT | {"streams": []})
    assert forebay("trace", "show", "run.trace", "--plot", str(tmp_path / "a.png")).code == 0


def test_real_program_finds_the_pattern_of_the_sample(forebay, real_tools, tmp_path):
    (tmp_path / "sample.txt").write_text(SAMPLE)
    trace = str(tmp_path / "run.trace")
    imported = forebay("trace", "import", str(tmp_path / "sample.txt"), "-o", trace)
    assert imported.code == 0, imported.err
    assert "6 records, 1 thread, 1 file" in imported.out
    document = forebay("trace", "show", trace, "--json", "-").json
    reads = document["streams"][0]["reads"]
    assert reads["count"] == 6
    assert "8192 i" in reads["signature"]
    assert reads["explained_share"] == pytest.approx(1.0)
    exported = forebay("trace", "export", trace, "-o", str(tmp_path / "out.csv"))
    assert exported.code == 0
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 7


def test_real_program_names_a_missing_and_a_foreign_file(forebay, real_tools, tmp_path):
    missing = forebay("trace", "show", str(tmp_path / "no.trace"))
    assert missing.code != 0
    assert "no.trace" in missing.err
    (tmp_path / "foreign").write_text("this is no trace, but text that is long enough")
    foreign = forebay("trace", "show", str(tmp_path / "foreign"))
    assert foreign.code != 0
    assert "foreign" in foreign.err
