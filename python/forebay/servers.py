# SPDX-License-Identifier: Apache-2.0
"""Results of `forebay bench servers`: times by number of tasks, and the load of the servers.

The demo prints them as a table and plots them. Both use this module.
"""

from dataclasses import asdict, dataclass

READERS = ("forebay", "naive")


@dataclass(frozen=True)
class ServerLoad:
    """The load of one server during a run."""

    requests: int
    mean_bytes: float  # of a request; 0 for operations on names
    busy: float  # share of the run's time in which it served at least one request


@dataclass(frozen=True)
class FileRead:
    """One complete read of the file."""

    seconds: float
    of_limit: float  # share of the storage's maximum bandwidth
    servers: list[ServerLoad]
    metadata: list[ServerLoad]


@dataclass(frozen=True)
class ServerPoint:
    """Results with one number of tasks."""

    tasks: int
    runs: dict[str, FileRead]  # by reader


@dataclass(frozen=True)
class ServerResults:
    """All results."""

    storage: str  # the name of a machine file
    ranks: int
    file_bytes: int
    limit_s: float  # the shortest possible time of a read
    points: list[ServerPoint]  # by increasing number of tasks


def parse_results(document: dict) -> ServerResults:
    """The results in a document of the benchmark."""
    parameters = document["parameters"]
    limit_s = parameters["limit_s"]
    counts = sorted({one["tasks"] for one in parameters["runs"]})
    runs = {(one["tasks"], one["reader"]): _run(one, limit_s) for one in parameters["runs"]}
    return ServerResults(
        storage=parameters["storage"],
        ranks=parameters["ranks"],
        file_bytes=parameters["file_bytes"],
        limit_s=limit_s,
        points=[ServerPoint(n, {reader: runs[n, reader] for reader in READERS}) for n in counts],
    )


def skipped_document(reason: str) -> dict:
    """The document if there is no storage for the benchmark."""
    return {"skip_reason": reason}


def to_document(document: dict) -> dict:
    """The same as JSON, for the document of the demo; a skipped document is returned unchanged."""
    return document if "skip_reason" in document else asdict(parse_results(document))


def _run(run: dict, limit_s: float) -> FileRead:
    seconds = run["seconds"]
    return FileRead(
        seconds=seconds,
        of_limit=limit_s / seconds,
        servers=[_server(row, seconds) for row in run["servers"]],
        metadata=[_server(row, seconds) for row in run["metadata"]],
    )


def _server(row: dict, seconds: float) -> ServerLoad:
    return ServerLoad(
        requests=row["requests"],
        mean_bytes=row["bytes_read"] / row["requests"] if row["requests"] else 0,
        # The counters are read shortly after the clock has stopped.
        busy=min(1, row["busy_us"] * 1e-6 / seconds),
    )
