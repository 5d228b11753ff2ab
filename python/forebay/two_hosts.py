# SPDX-License-Identifier: Apache-2.0
"""Rows of benchmarks that require two hosts, or are the worse of one host and two.

A second run measures them, on hosts that are namespaces of this machine. Its rows are merged with
those of the first run. If such hosts are not available, the document has the reason for the missing
rows.
"""

from collections.abc import Callable
from dataclasses import dataclass

from forebay import native
from forebay.errors import NativeError, SkippedError


@dataclass(frozen=True)
class OnTwoHosts:
    """The rows of a benchmark that need two hosts."""

    rows: tuple[str, ...]
    measured_by: str  # the benchmark of the second run
    link_mbyte_per_second: int
    ranks_per_host: int | None = None  # None: half of the ranks that the user chose


BENCHMARKS = {
    "read": OnTwoHosts(
        rows=("read.hosts.over_link", "read.hosts.computing", "read.idle_cpu"),
        measured_by="read",
        link_mbyte_per_second=100,
    ),
    # The link of a node is faster than the emulated storage.
    "foresight": OnTwoHosts(
        rows=(
            "foresight.server_push",
            "foresight.server_push.ended",
            "foresight.preexec.agent",
        ),
        measured_by="server_push",
        link_mbyte_per_second=1250,
        ranks_per_host=16,
    ),
}

Measure = Callable[[str, list[str], native.TwoHosts], dict]


def select_results(rows: tuple[str, ...], only: str | None) -> list[str]:
    """Those of the rows that a run with this --only has."""
    requested = [word for word in (only or "").split(",") if word]
    return [name for name in rows if not requested or name in requested]


def add_two_host_rows(
    document: dict, only: str | None, ranks: int, measure: Measure
) -> tuple[dict, NativeError | None]:
    """Adds its rows of two hosts to the document of a benchmark. `measure(benchmark, ids, hosts)`
    returns that of two hosts.

    After a failure with some results, returns these and the failure.
    """
    second = BENCHMARKS.get(document["benchmark"])
    ids = select_results(second.rows, only) if second else []
    if not ids:
        return document, None
    ranks_per_host = second.ranks_per_host or max(1, ranks // 2)
    hosts = native.TwoHosts(ranks_per_host, second.link_mbyte_per_second)
    try:
        return merge_rows(document, measure(second.measured_by, ids, hosts)), None
    except SkippedError as why:
        return mark_skipped(document, ids, str(why)), None
    except NativeError as error:
        found = error.document if isinstance(error.document, dict) else {"results": []}
        return merge_rows(document, found), error


def merge_rows(one: dict, two: dict) -> dict:
    """The rows of both documents. If both have a row, the worse one."""
    rows = {row["id"]: row for row in one["results"]}
    for row in two["results"]:
        rows[row["id"]] = worse_row(rows[row["id"]], row) if row["id"] in rows else row
    skipped = one.get("skipped", {}) | two.get("skipped", {})
    about = two.get("parameters", {}) | {
        "others_busy_cores": two.get("machine", {}).get("others_busy_cores")
    }
    return one | {
        "results": list(rows.values()),
        "skipped": {name: why for name, why in skipped.items() if name not in rows},
        "parameters": one["parameters"] | {"two_hosts": about},
    }


def worse_row(one: dict, two: dict) -> dict:
    """The row with the larger value. Its peers include both."""
    keys = ("value", "unit", "spread", "spread_kind", "runs")
    both = {"one host": one, "two hosts": two}
    peers = {name: {key: row[key] for key in keys} for name, row in both.items()}
    worst = max(both.values(), key=lambda row: row["value"])
    return worst | {"peers": worst["peers"] | peers}


def mark_skipped(document: dict, ids: list[str], why: str) -> dict:
    """Adds the reason to rows that are missing. A row of one host gets the reason why it is missing
    on two."""
    measured = {row["id"] for row in document["results"]}
    reasons = {name: f"on two hosts: {why}" if name in measured else why for name in ids}
    return document | {"skipped": document.get("skipped", {}) | reasons}
