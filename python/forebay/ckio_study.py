# SPDX-License-Identifier: Apache-2.0
"""The figure of CkIO (slides): one file of 4 GB on Bridges-2, read by 32 to 16384 tasks. The slides
print no times, so their claims are what is compared."""

from forebay import native
from forebay.published import tables

MACHINE = "bridges2"
MEBIBYTE = 1 << 20
AGENTS = (16, 64, 256, 512)  # from one for each node to one for each rank
SESSION, NAIVE, SHARED = "session", "per-call", "shared"
NAMES = {
    SESSION: "session",
    NAIVE: "each task opens the file",
    SHARED: "each rank opens the file once",
}


def plans() -> list[dict]:
    sizes = {"splinter_bytes": 4 * MEBIBYTE, "request_bytes": 4 * MEBIBYTE, "queue_depth": 16}
    sessions = [{"method": SESSION, "agents": agents} | sizes for agents in AGENTS]
    return [*sessions, {"method": NAIVE}, {"method": SHARED}]


def measure() -> dict:
    """Times of each plan for each number of tasks. Blocks."""
    printed = tables()["ckio"]
    shape = {key: printed[key] for key in ("ranks", "nodes", "bytes", "tasks")}
    found = native.tools().model_reads({"machine": MACHINE} | shape | {"plans": plans()})["plans"]
    curves = [
        {"method": asked["method"], "plan": one["plan"], "times": one["times"]}
        for asked, one in zip(plans(), found, strict=True)
    ]
    return {"machine": MACHINE} | shape | {"curves": curves}


def seconds(curve: dict) -> list[float]:
    return [one["total_s"] for one in curve["times"]]


def report_of(document: dict) -> dict:
    """The document with the best session, how flat it and the others are, and how much longer the
    others take."""
    of_method = {
        method: [one for one in document["curves"] if one["method"] == method] for method in NAMES
    }
    chosen = {
        method: min(curves, key=lambda one: max(seconds(one)))
        for method, curves in of_method.items()
    }
    session = seconds(chosen[SESSION])
    return document | {
        "chosen": chosen,
        "flat": {method: spread(seconds(curve)) for method, curve in chosen.items()},
        "over_session": {
            method: [one / other for one, other in zip(seconds(curve), session, strict=True)]
            for method, curve in chosen.items()
        },
    }


def spread(values: list[float]) -> float:
    """Largest / smallest."""
    return max(values) / min(values)
