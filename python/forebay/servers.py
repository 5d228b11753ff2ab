# SPDX-License-Identifier: Apache-2.0
"""What `forebay bench servers` found: times by number of tasks, and what servers did meanwhile.

The demonstration shows it as a table and as a picture, so both take it from here.
"""

from dataclasses import asdict, dataclass

READERS = ("forebay", "naive")


@dataclass(frozen=True)
class Server:
    """What one server did during a run."""

    requests: int
    mean_bytes: float  # of a request; 0 for operations on names
    busy: float  # share of the run's time in which it served at least one


@dataclass(frozen=True)
class Run:
    """A file that was read once."""

    seconds: float
    of_limit: float  # share of what the storage gives at most
    servers: list[Server]
    metadata: list[Server]


@dataclass(frozen=True)
class Point:
    """One number of tasks."""

    tasks: int
    runs: dict[str, Run]  # by reader


@dataclass(frozen=True)
class Found:
    """All of it."""

    storage: str  # the name of a machine file
    ranks: int
    file_bytes: int
    limit_s: float  # what nobody can be faster than
    points: list[Point]  # in rising order of tasks


def found_in(document: dict) -> Found:
    """What a document of the benchmark says."""
    parameters = document["parameters"]
    limit_s = parameters["limit_s"]
    counts = sorted({one["tasks"] for one in parameters["seen"]})
    runs = {(one["tasks"], one["reader"]): _run(one, limit_s) for one in parameters["seen"]}
    return Found(
        storage=parameters["storage"],
        ranks=parameters["ranks"],
        file_bytes=parameters["file_bytes"],
        limit_s=limit_s,
        points=[Point(n, {reader: runs[n, reader] for reader in READERS}) for n in counts],
    )


def skipped(why: str) -> dict:
    """Stands for a document where there was nothing to run it on."""
    return {"skipped": why}


def to_document(document: dict) -> dict:
    """The same as JSON for the demonstration's document; what was skipped stays that."""
    return document if "skipped" in document else asdict(found_in(document))


def _run(seen: dict, limit_s: float) -> Run:
    seconds = seen["seconds"]
    return Run(
        seconds=seconds,
        of_limit=limit_s / seconds,
        servers=[_server(row, seconds) for row in seen["servers"]],
        metadata=[_server(row, seconds) for row in seen["metadata"]],
    )


def _server(row: dict, seconds: float) -> Server:
    return Server(
        requests=row["requests"],
        mean_bytes=row["bytes_read"] / row["requests"] if row["requests"] else 0,
        # The counts are taken a moment after the clock has stopped.
        busy=min(1, row["busy_us"] * 1e-6 / seconds),
    )
