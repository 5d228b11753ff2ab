# SPDX-License-Identifier: Apache-2.0
"""Results of `forebay bench tasks`, one point for each number of tasks.

The demo prints them as a table and plots them. Both use this module.
"""

from dataclasses import asdict, dataclass

READERS = ("forebay", "naive")


@dataclass(frozen=True)
class TaskCountResult:
    """Results with one number of tasks. Summaries are those of benchmarks: value and spread."""

    tasks: int
    over_naive: dict  # time through Forebay / time of tasks that each read on their own
    times_s: dict[str, dict]  # by reader
    computing: dict[str, dict]  # by reader: speed of a concurrent computation / its speed alone
    computing_times_s: dict[str, dict]  # by reader, with that computation
    longer: dict  # time through Forebay with that computation / without it


def parse_points(document: dict) -> list[TaskCountResult]:
    """The points of a document of the benchmark, by increasing number of tasks."""
    rows = {row["id"]: row for row in document["results"]}
    counts = sorted(int(name.split(".")[1]) for name in rows if name.count(".") == 1)
    return [_point(count, rows) for count in counts]


def _point(count: int, rows: dict) -> TaskCountResult:
    time, share = rows[f"tasks.{count}"], rows[f"tasks.{count}.computing"]
    return TaskCountResult(
        tasks=count,
        over_naive=summary(time),
        times_s={reader: summary(time["peers"][reader]) for reader in READERS},
        computing={"forebay": summary(share), "naive": summary(share["peers"]["naive"])},
        computing_times_s={
            reader: summary(share["peers"][f"time of {reader}"]) for reader in READERS
        },
        longer=summary(share["peers"]["time over that without"]),
    )


def summary(row: dict) -> dict:
    return {name: row[name] for name in ("value", "spread", "spread_kind", "runs")}


def to_document(document: dict) -> dict:
    """The same as JSON, for the document of the demo."""
    parameters = document["parameters"]
    return {
        "ranks": parameters["ranks"],
        "file_bytes": parameters["file_bytes"],
        "points": [asdict(point) for point in parse_points(document)],
    }
