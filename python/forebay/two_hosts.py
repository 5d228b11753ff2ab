# SPDX-License-Identifier: Apache-2.0
"""Rows of `forebay bench read` that take two hosts, or are the worse of one host and two.

They are measured by a second start of the same program, on hosts that are namespaces of this
machine, and merged with what the first one said. Where there can be no such hosts the document says
why the rows are missing.
"""

from collections.abc import Callable

from forebay import native
from forebay.errors import NativeError, SkippedError

BENCHMARK = "read"
RESULTS = ("read.hosts.over_link", "read.hosts.computing", "read.idle_cpu")
LINK_MBYTE_PER_SECOND = 100

Measure = Callable[[list[str], native.TwoHosts], dict]


def wanted(only: str | None) -> list[str]:
    """Which of our rows a run with this --only has."""
    asked = [word for word in (only or "").split(",") if word]
    return [name for name in RESULTS if not asked or name in asked]


def complete(
    document: dict, only: str | None, ranks: int, measure: Measure
) -> tuple[dict, NativeError | None]:
    """Adds our rows to a document of one host; `measure(ids, hosts)` gives that of two.

    A failure after some results gives these and the failure.
    """
    ids = wanted(only)
    if not ids:
        return document, None
    hosts = native.TwoHosts(max(1, ranks // 2), LINK_MBYTE_PER_SECOND)
    try:
        return merged(document, measure(ids, hosts)), None
    except SkippedError as why:
        return left_out(document, ids, str(why)), None
    except NativeError as error:
        found = error.document if isinstance(error.document, dict) else {"results": []}
        return merged(document, found), error


def merged(one: dict, two: dict) -> dict:
    """The rows of both documents; of a row that both have, the worse."""
    rows = {row["id"]: row for row in one["results"]}
    for row in two["results"]:
        rows[row["id"]] = worse(rows[row["id"]], row) if row["id"] in rows else row
    left = one.get("left_out", {}) | two.get("left_out", {})
    about = two.get("parameters", {}) | {
        "others_busy_cores": two.get("machine", {}).get("others_busy_cores")
    }
    return one | {
        "results": list(rows.values()),
        "left_out": {name: why for name, why in left.items() if name not in rows},
        "parameters": one["parameters"] | {"two_hosts": about},
    }


def worse(one: dict, two: dict) -> dict:
    """The row with the larger value, beside which both stand."""
    keys = ("value", "unit", "spread", "spread_kind", "runs")
    both = {"one host": one, "two hosts": two}
    peers = {name: {key: row[key] for key in keys} for name, row in both.items()}
    worst = max(both.values(), key=lambda row: row["value"])
    return worst | {"peers": worst["peers"] | peers}


def left_out(document: dict, ids: list[str], why: str) -> dict:
    """Says of rows that are not there why; of one that is, that it is of one host only."""
    there = {row["id"] for row in document["results"]}
    reasons = {name: f"on two hosts: {why}" if name in there else why for name in ids}
    return document | {"left_out": document.get("left_out", {}) | reasons}
