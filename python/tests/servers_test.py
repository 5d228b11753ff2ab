# SPDX-License-Identifier: Apache-2.0
"""Many tasks on a parallel file system: the numbers as sentences, as a table and as a plot."""

import io

import pytest

from forebay.report.servers_plot import draw_servers, load_text
from forebay.report.servers_table import print_servers, speedup_text
from forebay.servers import ServerLoad, parse_results, skipped_document, to_document

MIB = 1 << 20


def rows(requests, bytes_read, busy_s, servers=4):
    return [
        {"number": i, "requests": requests, "bytes_read": bytes_read, "busy_us": busy_s * 1e6}
        for i in range(servers)
    ]


def run_of(tasks, reader, seconds, requests, names):
    return {
        "tasks": tasks,
        "reader": reader,
        "seconds": seconds,
        "servers": rows(requests, 64 * MIB, 0.5),
        "metadata": rows(names, 0, names * 5e-4, servers=1),
    }


def document(ranks=2, many_s=10.0):
    parameters = {
        "storage": "lustre-small",
        "ranks": ranks,
        "file_bytes": 256 * MIB,
        "limit_s": 0.5,
        "runs": [
            run_of(16384, "naive", many_s, 512, 16384),
            run_of(16384, "forebay", 0.5, 64, 9),
            run_of(2, "naive", 2.0, 512, 2),
            run_of(2, "forebay", 0.625, 64, 9),
        ],
    }
    return {"parameters": parameters, "results": []}


def printed(found) -> str:
    from rich.console import Console

    output = io.StringIO()
    print_servers(Console(file=output, width=500), found)
    return output.getvalue()


def test_points_are_in_increasing_order_with_shares_of_the_limit():
    few, many = parse_results(document()).points
    assert (few.tasks, many.tasks) == (2, 16384)
    assert few.runs["forebay"].of_limit == 0.8
    assert many.runs["naive"].of_limit == 0.05
    assert many.runs["naive"].servers[3] == ServerLoad(512, 128 << 10, 0.05)
    assert many.runs["naive"].metadata == [ServerLoad(16384, 0, pytest.approx(0.8192))]


def test_busy_share_of_a_server_is_at_most_1():
    found = document()
    found["parameters"]["runs"][1]["servers"] = rows(64, 64 * MIB, 0.6)
    assert parse_results(found).points[1].runs["forebay"].servers[0].busy == 1


def test_table_has_the_faster_reader_and_the_load():
    text = printed(to_document(document()))
    for part in (
        "256 MiB from lustre-small, emulated, by many tasks on 2 ranks",
        "Forebay, 20.0 times",
        "Forebay, 3.20 times",
        "The limit is 537 MB/s",
        "5% of the time (2,048 requests of 128 KiB), metadata servers for 82% (16,384)",
        "100% of the time (256 requests of 1 MiB), metadata servers for 1% (9)",
    ):
        assert part in text


def test_table_reports_when_forebay_is_slower():
    assert speedup_text(1.0, 2.0) == "[red]each alone, 2.00 times[/]"
    assert "each alone, 2.00 times" in printed(to_document(document(1, many_s=0.25)))


def test_single_rank_is_one_process():
    assert "by many tasks in one process" in printed(to_document(document(ranks=1)))


def test_reason_is_printed_without_a_mount():
    found = to_document(skipped_document("mounting requires root; run it as root"))
    text = printed(found)
    assert text == "Without a parallel file system: mounting requires root; run it as root.\n\n"


@pytest.mark.parametrize(
    ("server", "text"),
    [
        (ServerLoad(64, MIB, 1), "64 × 1 MiB"),
        (ServerLoad(16384, 0, 1), "16,384 requests"),
        (ServerLoad(1, 0, 0), "1 request"),
    ],
)
def test_load_is_written_beside_a_bar(server, text):
    assert load_text(server) == text


def texts_of(monkeypatch, found, file):
    """All visible texts of the plot, with their bounding boxes."""
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    drawn = []
    save = Figure.savefig

    def look(figure, *args, **options):
        save(figure, *args, **options)
        drawn.extend(
            (text.get_text(), text.get_window_extent())
            for text in figure.findobj(Text)
            if text.get_text() and text.get_visible()
        )

    monkeypatch.setattr(Figure, "savefig", look)
    draw_servers(found, file)
    return drawn


def test_plot_has_all_servers_and_no_overlapping_texts(monkeypatch, tmp_path):
    file = tmp_path / "servers.png"
    drawn = texts_of(monkeypatch, parse_results(document()), file)
    assert file.stat().st_size > 10_000
    texts = [text for text, _ in drawn]
    for part in ("server 3", "metadata", "64 × 1 MiB", "512 × 128 KiB", "20.0 ×\nthe limit"):
        assert part in texts
    for i, (text, box) in enumerate(drawn):
        for other, its_box in drawn[i + 1 :]:
            assert not box.padded(-1).overlaps(its_box.padded(-1)), (text, other)
