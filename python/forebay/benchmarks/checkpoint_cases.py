# SPDX-License-Identifier: Apache-2.0
"""The cases of `forebay bench checkpoint`, each a kernel and its backends, and the goals."""

from dataclasses import dataclass, replace
from math import log

from forebay.kernel.kernel_file import Kernel, make_kernel

STEPS = 4
ROUNDS = 5
MEMORY_STEPS = 2  # the maximum of steps in progress: later steps reuse the same memory
COMPUTE_S = 0.25
QUICK_COMPUTE_S = 0.01
PAYLOAD_BYTES = {"quick": 16 << 20, "usual": 1 << 30, "full": 8 << 30}
WORD_BYTES = 8
MEBIBYTE = 1 << 20
WHOLE_SHARE = 10**12  # a call of a reader is cut at the end of its share
FIO = "fio"
ALONE = "none"
AUTOMATIC = "forebay"

FOREBAY = (
    "forebay",
    "forebay:file-per-process",
    "forebay:file-per-process,adopt",
    "forebay:reduced-blocking,writers=1",
    "forebay:reduced-blocking,writers=1,adopt",
    "forebay:reduced-blocking,writers=2",
)
BY_HAND = ("posix", "posix:fsync", "posix:direct", "posix:shared", "mpiio", "mpiio:collective")
HDF5 = (
    "hdf5:one-file",
    "hdf5:one-file,flushed",
    "hdf5:one-file,collective",
    "hdf5:one-file,collective,flushed",
)
LIBRARIES = (
    *HDF5,
    "pmpio",
    "pmpio:files=2",
    "pnetcdf",
    "adios1:brigade",
    "adios1:brigade,aggregators=2",
    "adios1:gather",
    "adios1:gather,aggregators=2",
)
# ADIOS2 of its wheel has no MPI, so it is compared on one rank.
ADIOS2 = ("adios2", "adios2:StatsLevel=0", "adios2:StatsLevel=0,BufferVType=malloc")
ONE_RANK = ("forebay", "forebay:file-per-process", "forebay:file-per-process,adopt")
# Sets of libraries, by the last part of the id of a case: what a program must have for it.
LIBRARY_SETS = {
    "openmpi": ("pnetcdf", "PnetCDF "),
    "hdf5_2": ("hdf5", "HDF5 2."),
    "adios2": ("adios2", "ADIOS2 "),
}
READING = ("forebay", "posix", "posix:direct", "posix:shared")
READING_LIBRARIES = ("hdf5:one-file", "hdf5:one-file,collective", "pnetcdf")
BRIGADE = "forebay:brigade,writers=1"


@dataclass(frozen=True)
class Case:
    """One kernel, and the backends that run it."""

    id: str
    writers: int
    sizes: str = "equal"
    readers: int = 0
    computing: str = "none"
    steps: int = STEPS
    backends: tuple[str, ...] = (*FOREBAY, *BY_HAND)
    has_fio: bool = False

    @property
    def suits_libraries(self) -> bool:
        """Cases that the goals about libraries compare."""
        is_written = self.id.startswith("ckpt.durable.") and self.writers == STEPS
        return is_written or self.readers > 0

    def with_libraries(self) -> list["Case"]:
        more = READING_LIBRARIES if self.readers else LIBRARIES
        cases = [self.beside("openmpi", more)]
        return cases if self.readers else [*cases, self.beside("hdf5_2", HDF5)]

    def beside(self, library_set: str, more: tuple[str, ...]) -> "Case":
        backends = (*self.backends, *more)
        return replace(self, id=f"{self.id}.{library_set}", backends=backends, has_fio=False)


@dataclass(frozen=True)
class Comparison:
    """A goal: the best of Forebay / the best of a family, in the worst case."""

    id: str
    family: str
    goal: float | None
    prefix: str
    library_set: str = ""


COMPARISONS = (
    Comparison("ckpt.durable.over_fpp", "posix", 1.0, "ckpt.durable."),
    Comparison("ckpt.durable.over_fio", FIO, 0.8, "ckpt.durable."),
    Comparison("ckpt.durable.over_hdf5", "hdf5", 1.5, "ckpt.durable.", "openmpi"),
    Comparison("ckpt.durable.over_pnetcdf", "pnetcdf", 1.5, "ckpt.durable.", "openmpi"),
    Comparison("ckpt.durable.over_adios1", "adios1", 1.5, "ckpt.durable.", "openmpi"),
    Comparison("ckpt.durable.over_hdf5_2", "hdf5", None, "ckpt.durable.", "hdf5_2"),
    Comparison("ckpt.durable.over_adios2", "adios2", None, "ckpt.durable.", "adios2"),
    Comparison("ckpt.restart.over_fio", FIO, 0.8, "ckpt.restart."),
    Comparison("ckpt.restart.over_hdf5", "hdf5", 1.3, "ckpt.restart.", "openmpi"),
    Comparison("ckpt.restart.over_pnetcdf", "pnetcdf", 1.3, "ckpt.restart.", "openmpi"),
)


def memory_backends(step_bytes: int) -> tuple[str, ...]:
    """All strategies, with one writer where they have writers."""
    whole = max(16, 2 * step_bytes // MEBIBYTE // 4 * 4 + 4)
    variants = ("serial", "baton", "collective", "brigade,writers=1", "gather,writers=1")
    small = f"{BRIGADE},memory_mib=16"
    return (*FOREBAY, *(f"forebay:{one}" for one in variants), small, gather_whole(whole))


def gather_whole(memory_mib: int) -> str:
    """With room for a whole step: half of a rank's memory is for received bytes."""
    return f"forebay:gather,writers=1,memory_mib={memory_mib}"


def all_cases(step_bytes: int) -> list[Case]:
    cases = []
    for computing in ("none", "cpu", "memory"):
        prefix = "ckpt.durable" if computing == "none" else f"ckpt.computing.{computing}"
        for writers in (2, 4, 8):
            for sizes in ("equal", "exponential"):
                has_fio = computing == "none" and writers == STEPS and sizes == "equal"
                name = f"{prefix}.{writers}.{sizes}"
                cases.append(Case(name, writers, sizes, computing=computing, has_fio=has_fio))
                if cases[-1].suits_libraries:
                    cases += cases[-1].with_libraries()
    cases.append(Case("ckpt.durable.1.equal.adios2", 1, backends=(*ONE_RANK, *ADIOS2)))
    backends = memory_backends(step_bytes)
    memory = Case("ckpt.memory.8.exponential", 8, "exponential", steps=MEMORY_STEPS)
    cases.append(replace(memory, backends=backends))
    restart = {"steps": 1, "backends": READING, "has_fio": True}
    for case_id, writers, readers in (("4to4", 4, 4), ("8to3", 8, 3)):
        case = Case(f"ckpt.restart.{case_id}", writers, readers=readers, **restart)
        cases += [case, *case.with_libraries()]
    return cases


def block_sizes(sizes: str, ranks: int, step_bytes: int) -> list[int]:
    """Bytes of each rank: equal, or the quantiles of an exponential distribution, of which large
    ones are spread over the ranks."""
    order = [rank // 2 if rank % 2 == 0 else ranks - 1 - rank // 2 for rank in range(ranks)]
    weights = [-log(1 - (one + 0.5) / ranks) if sizes == "exponential" else 1.0 for one in order]
    words = step_bytes // WORD_BYTES
    shares = [max(1, int(words * weight / sum(weights))) for weight in weights]
    shares[-1] += words - sum(shares)
    return [share * WORD_BYTES for share in shares]


def kernel_of(case: Case, step_bytes: int, compute_s: float) -> Kernel:
    values = block_sizes(case.sizes, case.writers, step_bytes)
    write = {"name": "block", "do": "write", "size": {"family": "replay", "file": ""}}
    operations = [write]
    if case.readers:
        write["when"] = "before"
        ranks = f"0:{case.readers}"
        read = {"name": "restart", "do": "read", "from": "block", "size": WHOLE_SHARE}
        operations.append(read | {"ranks": ranks})
    document = {"format": 1, "name": "checkpoint", "writers": case.writers, "steps": case.steps}
    document |= {"compute_s": compute_s, "operation": operations}
    kernel = make_kernel(document, case.id)
    kernel.operations[0].size.set_values([values])
    return kernel


def library_set_of(case_id: str) -> str:
    """Empty for a case without libraries."""
    last = case_id.rpartition(".")[2]
    return last if last in LIBRARY_SETS else ""


def belongs(case_id: str, comparison: Comparison) -> bool:
    is_same_set = library_set_of(case_id) == comparison.library_set
    return case_id.startswith(comparison.prefix) and is_same_set
