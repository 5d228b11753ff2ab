# SPDX-License-Identifier: Apache-2.0
"""`forebay bench checkpoint`: runs one program for each MPI and merges their documents.

The compared libraries come from Debian, which links them to Open MPI. If the program for Open MPI
was built, it runs after the other one, and its rows are added.
"""

from collections.abc import Callable
from dataclasses import dataclass

from forebay import native
from forebay.errors import TERMINATIONS, ForebayError

BENCHMARK = "checkpoint"
PROGRAM = "forebay-bench-checkpoint"
OPENMPI_PROGRAM = "forebay-bench-checkpoint-openmpi"
# Ranks of the largest case. A smaller case uses the first ones; the others sleep.
RANKS = 8
NOT_BUILT = f"{OPENMPI_PROGRAM} is not built; see docs/guides/bench-checkpoint.md"
# Results that need the peers' libraries, and results that need none of them.
LIBRARY_RESULTS = (
    "ckpt.durable.over_hdf5",
    "ckpt.durable.over_pnetcdf",
    "ckpt.durable.over_adios1",
    "ckpt.restart.over_hdf5",
    "ckpt.restart.over_pnetcdf",
)
FILE_RESULTS = ("ckpt.durable.over_fpp", "ckpt.durable.over_fio", "ckpt.restart.over_fio")
# Results of Forebay alone. The second program accepts their ids and leaves them out.
FOREBAY_RESULTS = (
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
PRIMARY_RESULTS = FILE_RESULTS + FOREBAY_RESULTS
OPENMPI_SUFFIX = ".openmpi"


@dataclass(frozen=True)
class ProgramRun:
    """A program, and the ranks on which it is started."""

    program: str
    ranks: int | native.OpenMpi


Measure = Callable[[ProgramRun], tuple[dict, BaseException | None]]


def plan_runs(only: str | None) -> list[ProgramRun]:
    """The runs for these ids, or for all results. Without Open MPI's program, the first alone."""
    ids = {one for one in (only or "").split(",") if one}
    first, second = ProgramRun(PROGRAM, RANKS), ProgramRun(OPENMPI_PROGRAM, native.OpenMpi(RANKS))
    if not native.is_built(OPENMPI_PROGRAM):
        return [first]
    if ids and ids <= set(LIBRARY_RESULTS):
        return [second]
    return [first] if ids and ids <= set(PRIMARY_RESULTS) else [first, second]


def measure_all(only: str | None, measure: Measure) -> tuple[dict, BaseException | None]:
    """Runs the planned programs one after the other.

    Returns the merged document and the failure, if any. A failure before the first document is
    raised.
    """
    merged = None
    for run in plan_runs(only):
        try:
            document, error = measure(run)
        except (ForebayError, *TERMINATIONS) as failed:
            if merged is None:
                raise
            return merged, failed
        merged = document if merged is None else merge_documents(merged, document)
        if error is not None:
            return merged, error
    if not native.is_built(OPENMPI_PROGRAM):
        merged = mark_missing_program(merged)
    return merged, None


def merge_documents(first: dict, second: dict) -> dict:
    """One document of both. It has a row of each program for a case that both measured. A goal that
    only one program measured is no longer left out. parameters.runs has each run's environment.
    """
    measured_ids = {row["id"] for row in first["results"]} | set(first["skipped"])
    own = [row for row in second["results"] if row["id"] in LIBRARY_RESULTS]

    def with_openmpi_suffix(name: str) -> str:
        """Adds the suffix if the first program measured the case or left it out: both rows are
        kept. The name of a candidate that a case left out is "CANDIDATE in CASE"."""
        case = name.rpartition(" in ")[2]
        return (
            name + OPENMPI_SUFFIX if case in measured_ids and case not in LIBRARY_RESULTS else name
        )

    # Goals that need no library come from the first document.
    cases = [
        row | {"id": with_openmpi_suffix(row["id"])}
        for row in second["results"]
        if row["id"] not in LIBRARY_RESULTS + PRIMARY_RESULTS
    ]
    results = [*first["results"], *cases, *own]
    reported_ids = {row["id"] for row in results}
    # For results that only the first program measures, only its reasons count.
    reasons = {
        with_openmpi_suffix(n): why
        for n, why in second["skipped"].items()
        if n not in PRIMARY_RESULTS
    }
    skipped = {**first["skipped"], **reasons}
    return first | {
        "results": results,
        "skipped": {name: why for name, why in skipped.items() if name not in reported_ids},
        "parameters": merge_parameters(first, second),
    }


def merge_parameters(*documents: dict) -> dict:
    """The parameters of the first document, with the cases of all.

    `runs` has what differs between programs: the machine with its load by other processes, and the
    chosen settings of fio.
    """
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


def mark_missing_program(document: dict) -> dict:
    """Makes the missing program the reason of each row that needs it."""
    reasons = {name: NOT_BUILT for name in document["skipped"] if name in LIBRARY_RESULTS}
    return document | {"skipped": document["skipped"] | reasons}
