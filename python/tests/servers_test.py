# SPDX-License-Identifier: Apache-2.0
"""Many tasks on a parallel file system: what is made of the numbers, in words and as a picture."""

import io

import pytest

from forebay.report.servers_plot import draw_servers, work_text
from forebay.report.servers_table import faster_text, print_servers
from forebay.servers import Server, found_in, skipped, to_document

MIB = 1 << 20


def rows(requests, bytes_read, busy_s, servers=4):
    return [
        {"number": i, "requests": requests, "bytes_read": bytes_read, "busy_us": busy_s * 1e6}
        for i in range(servers)
    ]


def seen(tasks, reader, seconds, requests, names):
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
        "seen": [
            seen(16384, "naive", many_s, 512, 16384),
            seen(16384, "forebay", 0.5, 64, 9),
            seen(2, "naive", 2.0, 512, 2),
            seen(2, "forebay", 0.625, 64, 9),
        ],
    }
    return {"parameters": parameters, "results": []}


def printed(found) -> str:
    from rich.console import Console

    output = io.StringIO()
    print_servers(Console(file=output, width=500), found)
    return output.getvalue()


def test_points_are_in_rising_order_with_shares_of_the_limit():
    few, many = found_in(document()).points
    assert (few.tasks, many.tasks) == (2, 16384)
    assert few.runs["forebay"].of_limit == 0.8
    assert many.runs["naive"].of_limit == 0.05
    assert many.runs["naive"].servers[3] == Server(512, 128 << 10, 0.05)
    assert many.runs["naive"].metadata == [Server(16384, 0, pytest.approx(0.8192))]


def test_no_server_is_busy_for_longer_than_it_took():
    found = document()
    found["parameters"]["seen"][1]["servers"] = rows(64, 64 * MIB, 0.6)
    assert found_in(found).points[1].runs["forebay"].servers[0].busy == 1


def test_the_table_says_who_is_faster_and_why():
    text = printed(to_document(document()))
    for part in (
        "256 MiB from lustre-small, emulated, by many tasks on 2 ranks",
        "Forebay, 20.0 times",
        "Forebay, 3.20 times",
        "The limit is 537 MB/s",
        "5% of the time (2,048 requests of 128 KiB), those of metadata for 82% (16,384)",
        "100% of the time (256 requests of 1 MiB), those of metadata for 1% (9)",
    ):
        assert part in text


def test_the_table_is_honest_where_forebay_loses():
    assert faster_text(1.0, 2.0) == "[red]each for itself, 2.00 times[/]"
    assert "each for itself, 2.00 times" in printed(to_document(document(1, many_s=0.25)))


def test_one_process_is_no_ranks():
    assert "by many tasks in one process" in printed(to_document(document(ranks=1)))


def test_the_reason_is_printed_where_nothing_was_mounted():
    found = to_document(skipped("mounting takes root; run it as root"))
    text = printed(found)
    assert text == "Without a parallel file system: mounting takes root; run it as root.\n\n"


@pytest.mark.parametrize(
    ("server", "text"),
    [
        (Server(64, MIB, 1), "64 × 1 MiB"),
        (Server(16384, 0, 1), "16,384 requests"),
        (Server(1, 0, 0), "1 request"),
    ],
)
def test_work_is_told_beside_a_bar(server, text):
    assert work_text(server) == text


def texts_of(monkeypatch, found, file):
    """All texts of the picture that are drawn, with the boxes that they take."""
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    drawn = []
    save = Figure.savefig

    def look(figure, *words, **options):
        save(figure, *words, **options)
        drawn.extend(
            (text.get_text(), text.get_window_extent())
            for text in figure.findobj(Text)
            if text.get_text() and text.get_visible()
        )

    monkeypatch.setattr(Figure, "savefig", look)
    draw_servers(found, file)
    return drawn


def test_the_picture_has_all_servers_and_no_text_upon_another(monkeypatch, tmp_path):
    file = tmp_path / "servers.png"
    drawn = texts_of(monkeypatch, found_in(document()), file)
    assert file.stat().st_size > 10_000
    texts = [text for text, _ in drawn]
    for part in ("server 3", "metadata", "64 × 1 MiB", "512 × 128 KiB", "20.0 ×\nthe limit"):
        assert part in texts
    for i, (text, box) in enumerate(drawn):
        for other, its_box in drawn[i + 1 :]:
            assert not box.padded(-1).overlaps(its_box.padded(-1)), (text, other)
