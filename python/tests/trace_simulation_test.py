# SPDX-License-Identifier: Apache-2.0
"""`forebay trace simulate`: tables and plot of a result, and the real program if built."""

import io
import sys

import pytest

from forebay import trace_reference
from forebay.report import trace_simulation_tables

COUNTS = {"misses": 3, "pages_read": 5, "pages_pushed": 7, "pages_wasted": 2}


def counts(faults: int, name: str | None = None) -> dict:
    named = {} if name is None else {"name": name, "ns_per_access": 17.2}
    return COUNTS | {"faults": faults} | named


LU = {
    "name": "lu",
    "reads": 8253,
    "base": counts(4688),
    "predictors": [counts(4, "runs"), counts(263, "markov"), counts(0, "stored")],
}
DOCUMENT = {"cache_bytes": 32 << 20, "page_bytes": 64 << 10, "lookahead": 1, "streams": [LU]}


def test_table_has_rates_costs_and_the_assumption(forebay, fake_tools):
    fake_tools(simulate_trace=DOCUMENT)
    completed = forebay("trace", "simulate")
    assert completed.code == 0, completed.err
    words = completed.out.split()
    for text in ("lu", "8,253", "56.8", "0.05", "3.2", "17", "stored"):
        assert text in words
    assert "cache of 32 MiB in pages of 64 KiB, 1 prediction before each read" in completed.out
    assert "assumed to arrive in time" in completed.out


def rendered(document: dict) -> str:
    from rich.console import Console

    console = Console(file=io.StringIO(), force_terminal=True, width=110, highlight=False)
    trace_simulation_tables.print_simulation(console, document)
    return console.file.getvalue()


def test_only_best_online_predictor_is_bold():
    out = rendered(DOCUMENT)
    assert "\x1b[1m0.05\x1b[0m" in out
    assert "\x1b[1m3.2\x1b[0m" not in out
    assert "\x1b[1m0.0\x1b[0m" not in out


def test_predictors_that_gain_nothing_are_not_bold():
    useless = LU | {"predictors": [counts(4688, "runs"), counts(0, "stored")]}
    assert "\x1b[1m56.8\x1b[0m" not in rendered(DOCUMENT | {"streams": [useless]})


def test_stream_without_signature_has_the_reason_and_an_empty_cell(forebay, fake_tools, tmp_path):
    unknown = LU | {"name": "run [1].dat", "error": "too many items"}
    unknown["predictors"] = LU["predictors"][:2]
    fake_tools(simulate_trace=DOCUMENT | {"streams": [unknown, LU]})
    out = forebay("trace", "simulate", "run.trace").out
    assert "run [1].dat: no signature: too many items" in out
    fake_tools(simulate_trace=DOCUMENT | {"streams": [unknown]})
    plotted = forebay("trace", "simulate", "run.trace", "--plot", tmp_path / "a.png")
    assert plotted.code == 0, plotted.err


def test_trace_without_reads_has_an_empty_table_and_plot(forebay, fake_tools, tmp_path):
    fake_tools(simulate_trace=DOCUMENT | {"streams": []})
    plotted = forebay("trace", "simulate", "run.trace", "--plot", tmp_path / "a.png")
    assert plotted.code == 0, plotted.err
    assert (tmp_path / "a.png").stat().st_size > 1000


def test_real_program_beats_the_slides(forebay, real_tools, tmp_path):
    plot = tmp_path / "a.png"
    document = forebay("trace", "simulate", "--json", "-", "--plot", plot).json
    assert plot.stat().st_size > 1000
    streams = {stream["name"]: stream for stream in document["streams"]}
    for name, percent in trace_simulation_tables.SLIDES.items():
        stream = streams[name]
        best = trace_simulation_tables.best_online(stream)
        assert best["faults"] / stream["reads"] * 100 <= max(percent, 0.1)
        assert stream["predictors"][-1]["faults"] == 0


def test_real_program_simulates_one_pattern_with_another_cache(forebay, real_tools):
    options = ("--cache", "4MiB", "--page", "4KiB", "--lookahead", "8")
    document = forebay(
        "trace", "simulate", "--pattern", "random.2_epochs", *options, "--json", "-"
    ).json
    assert document["cache_bytes"] == 4 << 20
    assert document["page_bytes"] == 4 << 10
    assert document["lookahead"] == 8
    assert len(document["streams"]) == 1


def test_real_program_simulates_a_trace(forebay, real_tools, tmp_path):
    text, trace = tmp_path / "reads.csv", tmp_path / "run.trace"
    lines = [f"0,{i * 65536},1024,read" for i in range(50)]
    text.write_text("File #,File Pos,# of Bytes,I/O Op\n" + "\n".join(lines) + "\n")
    imported = forebay("trace", "import", text, "-o", trace)
    assert imported.code == 0, imported.err
    stream = forebay("trace", "simulate", trace, "--json", "-").json["streams"][0]
    assert stream["name"].startswith("file 0")
    assert stream["base"]["faults"] == 50
    assert stream["predictors"][0]["faults"] == 2


@pytest.mark.parametrize(
    "words",
    [
        ("run.trace", "--pattern", "lu"),
        ("--pattern", "none"),
        ("--pattern", "flash_io"),
        ("--cache", "4KiB"),
        ("--lookahead", "0"),
    ],
)
def test_real_program_refuses(forebay, real_tools, words):
    completed = forebay("trace", "simulate", *words)
    assert completed.code != 0
    assert completed.err


@pytest.mark.parametrize("cache_pages", [1, 3, 512])
def test_counts_of_references_are_those_of_the_program(real_tools, cache_pages):
    for pattern in ("lu", "nested.16k", "btio"):
        options = {"cache_bytes": cache_pages << 16, "accesses": True}
        document = real_tools.simulate_trace(pattern=pattern, **options)
        (stream,) = document["streams"]
        reads = [tuple(one) for one in stream["accesses"]]
        nothing = trace_reference.count_faults(reads, [None] * len(reads), cache_pages, 65536)
        assert nothing == {key: stream["base"][key] for key in nothing}
        everything = trace_reference.count_faults(reads, reads, cache_pages, 65536)
        stored = stream["predictors"][-1]
        assert stored["misses"] == 0
        assert everything == {key: stored[key] for key in everything}


def test_references_are_rows_beside_ours(forebay, real_tools):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed: run scripts/setup test")
    pytest.importorskip(
        "statsmodels", reason="statsmodels is not installed: run scripts/setup test"
    )
    words = ("trace", "simulate", "--pattern", "stride.64k", "--reference")
    (stream,) = forebay(*words, "--json", "-").json["streams"]
    assert "accesses" not in stream
    faults = {one["name"]: one["faults"] for one in stream["predictors"]}
    assert faults["runs"] < faults["tree"] == faults["knn"] < 10
    assert faults["ar"] < 20
    assert "References" in forebay(*words).out


def test_reference_without_the_package_names_what_to_install(forebay, fake_tools, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.neighbors", None)
    fake_tools(simulate_trace=DOCUMENT)
    completed = forebay("trace", "simulate", "--reference")
    assert completed.code == 1
    assert 'pip install "forebay[reference]"' in completed.err
    assert forebay("trace", "simulate", "--reference", "--lookahead", "8").code == 2
