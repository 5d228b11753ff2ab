# SPDX-License-Identifier: Apache-2.0
"""What `forebay bench tasks` found, point by point: one for each number of tasks.

The demonstration shows it as a table and as a picture, so both take it from here.
"""

from dataclasses import asdict, dataclass

READERS = ("forebay", "naive")


@dataclass(frozen=True)
class Point:
    """One number of tasks; summaries are those of benchmarks, with value and spread."""

    tasks: int
    over_naive: dict  # time through Forebay by time of tasks that read for themselves
    times_s: dict[str, dict]  # by reader
    computing: dict[str, dict]  # by reader: share of what a computation does alone
    computing_times_s: dict[str, dict]  # by reader, while it goes on
    longer: dict  # the time through Forebay with it by that without


def points_of(document: dict) -> list[Point]:
    """The points of a document of the benchmark, in rising order of tasks."""
    rows = {row["id"]: row for row in document["results"]}
    counts = sorted(int(name.split(".")[1]) for name in rows if name.count(".") == 1)
    return [_point(count, rows) for count in counts]


def _point(count: int, rows: dict) -> Point:
    time, share = rows[f"tasks.{count}"], rows[f"tasks.{count}.computing"]
    return Point(
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
    """The same as JSON for the demonstration's document."""
    parameters = document["parameters"]
    return {
        "ranks": parameters["ranks"],
        "file_bytes": parameters["file_bytes"],
        "points": [asdict(point) for point in points_of(document)],
    }
