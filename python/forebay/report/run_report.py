# SPDX-License-Identifier: Apache-2.0
"""The report of `forebay run`, as one screen."""

from forebay.report.terminal import table
from forebay.report.units import size

FILES_MAX = 20


def print_report(console, document: dict) -> None:
    result = table("Files", "file", "reads", "read ahead", "late", "missed", "waited")
    files = sorted(document["files"], key=lambda one: -one["wait_s"] - one["hits"] / 1e6)
    for one in files[:FILES_MAX]:
        result.add_row(
            one["path"],
            str(one["reads"]),
            str(one["hits"]),
            str(one["late"]),
            str(one["misses"]),
            f"{one['wait_s']:.3f} s",
        )
    console.print(result)
    if len(files) > FILES_MAX:
        console.print(f"and {len(files) - FILES_MAX} further files (--json has all)")
    hits = sum(one["hits"] for one in files)
    saved_s = hits * document["storage_latency_s"]
    console.print(
        f"{size(document['read_ahead_bytes'])} were read ahead. Without them, the program "
        f"would have waited up to {saved_s:.2f} s longer."
    )
    for key, what in (
        ("lost_records", "reads came faster than they could be recorded"),
        ("lost_files", "files came faster than they could be recorded"),
        ("unrecorded_threads", "threads were not recorded: too many run"),
        ("unrecorded_processes", "processes were not recorded: too many run"),
    ):
        if document[key]:
            console.print(f"{document[key]} {what}")
