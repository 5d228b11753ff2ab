# SPDX-License-Identifier: Apache-2.0
"""`forebay bench checkpoint`: one program for each MPI, and one document of both.

The libraries that are compared with come from Debian, which links them to Open MPI. Where the
program for that MPI was built, it runs after the other one, and its rows join.
"""

from collections.abc import Callable
from dataclasses import dataclass

from forebay import native
from forebay.errors import ENDINGS, ForebayError

BENCHMARK = "checkpoint"
PROGRAM = "forebay-bench-checkpoint"
OPENMPI_PROGRAM = "forebay-bench-checkpoint-openmpi"
# As many as the largest case needs; smaller ones are for the first of them, the others sleep.
RANKS = 8
NOT_BUILT = f"{OPENMPI_PROGRAM} is not built; see docs/guides/bench-checkpoint.md"
# What only programs with the peers' libraries can answer, and what needs none of them.
OF_LIBRARIES = (
    "ckpt.durable.over_hdf5",
    "ckpt.durable.over_pnetcdf",
    "ckpt.durable.over_adios1",
    "ckpt.restart.over_hdf5",
    "ckpt.restart.over_pnetcdf",
)
OF_FILES = ("ckpt.durable.over_fpp", "ckpt.durable.over_fio", "ckpt.restart.over_fio")
# About Forebay alone: the second program knows their names and leaves them out.
OF_FOREBAY = (
    "ckpt.perceived.adopt_us",
    "ckpt.perceived.over_memcpy",
    "ckpt.open_us",
    "ckpt.overlap",
    "ckpt.overlap.heavy",
    "ckpt.memory.8.exponential",
    "ckpt.memory_over_plan",
    "ckpt.brigade_memory",
    "ckpt.dedicated.over_in_rank",
)
OF_FIRST = OF_FILES + OF_FOREBAY
SECOND = ".openmpi"


@dataclass(frozen=True)
class Run:
    """A program, and the ranks that it is started on."""

    program: str
    ranks: int | native.OpenMpi


Measure = Callable[[Run], tuple[dict, BaseException | None]]


def runs(only: str | None) -> list[Run]:
    """What has to be run for these ids, or for all; without Open MPI's program the first alone."""
    ids = {one for one in (only or "").split(",") if one}
    first, second = Run(PROGRAM, RANKS), Run(OPENMPI_PROGRAM, native.OpenMpi(RANKS))
    if not native.is_there(OPENMPI_PROGRAM):
        return [first]
    if ids and ids <= set(OF_LIBRARIES):
        return [second]
    return [first] if ids and ids <= set(OF_FIRST) else [first, second]


def measure_all(only: str | None, measure: Measure) -> tuple[dict, BaseException | None]:
    """Runs what has to be, one after the other. What came before a failure is kept."""
    merged = None
    for run in runs(only):
        try:
            document, error = measure(run)
        except (ForebayError, *ENDINGS) as failed:
            if merged is None:
                raise
            return merged, failed
        merged = document if merged is None else join(merged, document)
        if error is not None:
            return merged, error
    if not native.is_there(OPENMPI_PROGRAM):
        merged = without_libraries(merged)
    return merged, None


def join(first: dict, second: dict) -> dict:
    """One document of both. A row that both have is shown of each; a goal that only one could
    answer is no longer left out. What was around each of them is in parameters.runs."""
    tried = {row["id"] for row in first["results"]} | set(first["left_out"])
    own = [row for row in second["results"] if row["id"] in OF_LIBRARIES]

    def of_second(name: str) -> str:
        """Whether the first one measured a case or says why not: the other row is another one. The
        reason why somebody is not in a case is "PEER in CASE"."""
        case = name.rpartition(" in ")[2]
        return name + SECOND if case in tried and case not in OF_LIBRARIES else name

    # Goals that need no library are the first one's.
    cases = [
        row | {"id": of_second(row["id"])}
        for row in second["results"]
        if row["id"] not in OF_LIBRARIES + OF_FIRST
    ]
    results = [*first["results"], *cases, *own]
    answered = {row["id"] for row in results}
    # What only the first one can measure, it alone can say why it did not.
    reasons = {of_second(n): why for n, why in second["left_out"].items() if n not in OF_FIRST}
    left_out = {**first["left_out"], **reasons}
    return first | {
        "results": results,
        "left_out": {name: why for name, why in left_out.items() if name not in answered},
        "parameters": joined_parameters(first, second),
    }


def joined_parameters(*documents: dict) -> dict:
    """Those of the first one, with the cases of all. Each program had a machine that others kept
    busy as they did just then, and settings of fio that it chose for itself."""
    all_of_them = [one["parameters"] for one in documents]
    cases = [
        case | {"mpi": one.get("mpi", "")} for one in all_of_them for case in one.get("cases", [])
    ]
    mpi = [one["mpi"] for one in all_of_them if one.get("mpi")]
    runs = [
        {"mpi": parameters.get("mpi", ""), "machine": one.get("machine", {})}
        | ({"fio": parameters["fio"]} if "fio" in parameters else {})
        for one, parameters in zip(documents, all_of_them, strict=True)
    ]
    return all_of_them[0] | {"cases": cases, "mpi": ", ".join(mpi), "runs": runs}


def without_libraries(document: dict) -> dict:
    """Says which program is missing where a row of it is."""
    reasons = {name: NOT_BUILT for name in document["left_out"] if name in OF_LIBRARIES}
    return document | {"left_out": document["left_out"] | reasons}
