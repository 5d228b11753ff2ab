# SPDX-License-Identifier: Apache-2.0
"""The programs of `forebay bench run`: command lines of the shell.

Their variables: $DIR, the directory with the files that bench/run/programs.py makes; $BIN, that of
the programs of the benchmark; $N, a number of reads; $ORDER, a signature of that number of reads in
random order; $COPY, a file to write.
"""

import random
from dataclasses import dataclass

SCRIPT = "python3 $BIN/forebay-bench-programs.py"


@dataclass(frozen=True)
class Program:
    """`group` names the rows that it belongs to. run.identical has all programs, run.harm all but
    failing ones."""

    group: str
    name: str
    command: str
    needs: str = ""  # a command that fails if something is missing that the program requires
    status: int = 0  # its exit status


def _reader(signature: str) -> str:
    return f'$BIN/forebay-bench-reader $DIR/data "{signature}"'


def _python(group: str, name: str, function: str, packages: str) -> Program:
    """A function of programs.py."""
    return Program(group, name, f"{SCRIPT} {function} $DIR $N", f"{SCRIPT} needs {packages}")


def _mpi(group: str, name: str, library: str, ranks: int, count: str) -> Program:
    """`count` is the number of blocks, and options."""
    launcher, options, version = {
        "mpich": ("mpiexec", "", "HYDRA"),
        "openmpi": (
            "mpiexec.openmpi",
            " --allow-run-as-root --oversubscribe",
            r"Open MPI\|OpenRTE",
        ),
    }[library]
    reader = f"$BIN/forebay-bench-reader-{library}"
    return Program(
        group,
        f"{name}, {library}, ranks: {ranks}",
        f"{launcher}{options} -n {ranks} {reader} $DIR/data {count}",
        f"test -x {reader} && {launcher} --version | grep -q '{version}'",
    )


PROGRAMS = (
    # Reads far apart from each other.
    Program("wide", "stride 64k", _reader("read {$N x (65536 i, 1024)}")),
    Program("wide", "stride 32k", _reader("read {$N x (32768 i, 1024)}")),
    Program(
        "wide",
        "nested 64k/192k",
        _reader("read {$((N / 2)) x {2 x (262144 i + 65536 j, 1024)}}"),
    ),
    _python("wide", "Python open, stride 64k", "open", "os"),
    _python("wide", "Python os.pread, stride 64k", "pread", "os"),
    _python("wide", "h5py hyperslab, stride 128k", "hyperslab", "h5py"),
    # Random order, the same in each run.
    Program("random", "random order", _reader("$ORDER")),
    # Numbered files.
    _python("series", "Python, series of files", "series", "hashlib"),
    _python("series", "h5py, series of files", "hdf5_series", "h5py"),
    # Long sequential reads.
    Program("long", "sequential, 4 MiB", _reader("read {$((N / 12)) x (4194304 i, 4194304)}")),
    # Many small files.
    Program(
        "import",
        "import of 300 modules",
        "PYTHONPATH=$DIR python3 -c 'import tree'",
        "command -v python3",
    ),
    Program(
        "other",
        "Fortran, stride 256k",
        "$BIN/forebay-bench-reader-fortran $DIR/data $((2 * N))",
        "test -x $BIN/forebay-bench-reader-fortran",
    ),
    _python("other", "numpy.fromfile, stride 64k", "fromfile", "numpy"),
    _python("other", "numpy.memmap, stride 64k", "memmap", "numpy"),
    _python("other", "h5py chunked", "chunked", "h5py"),
    _python("other", "zarr", "zarr", "zarr"),
    _python("other", "xarray", "xarray", "xarray zarr"),
    Program(
        "other",
        "sqlite3 full scan",
        "sqlite3 -readonly $DIR/table.db 'SELECT count(*), sum(length(v)) FROM t'",
        "command -v sqlite3",
    ),
    Program(
        "other",
        "sqlite3 index scan",
        'sqlite3 -readonly $DIR/table.db "SELECT sum(length(v)) FROM (SELECT v FROM t'
        ' INDEXED BY by_k WHERE k >= 0 ORDER BY k LIMIT 3 * $N)"',
        "command -v sqlite3",
    ),
    Program("other", "md5sum", "md5sum $DIR/chunked.h5"),
    Program("other", "md5sum of standard input", "md5sum < $DIR/chunked.h5"),
    Program("other", "cat", "cat $DIR/chunked.h5"),
    Program("other", "cp", "cp $DIR/chunked.h5 $COPY"),
    Program("other", "wc", "wc $DIR/text"),
    Program("other", "grep", "grep -c abc $DIR/text"),
    # These end at once.
    Program("failing", "grep without a match", "grep -c absent $DIR/text", status=1),
    Program("failing", "cat of a missing file", "cat $DIR/absent", status=1),
    Program("other", "sort", "sort $DIR/text"),
    Program("other", "tar", "tar cf - -C $DIR/many ."),
    Program("other", "sequential 4k", _reader("read {$((20 * N)) x (4096 i, 4096)}")),
    Program("other", "stride 4k", _reader("read {$((5 * N)) x (4096 i, 1024)}")),
    Program(
        "other",
        "nested 2k/6k",
        _reader("read {$((5 * N / 2)) x {2 x (8192 i + 2048 j, 1024)}}"),
    ),
    _mpi("wide", "MPI-IO, stride 64k", "mpich", 1, "$((16 * N))"),
    # Those with two ranks have two reads in progress on their own.
    _mpi("other", "MPI-IO, stride 64k", "mpich", 2, "$((2 * N))"),
    _mpi("other", "MPI-IO, file view", "mpich", 2, "$((2 * N)) view"),
    _mpi("wide", "MPI-IO, stride 64k", "openmpi", 1, "$((16 * N))"),
    _mpi("other", "MPI-IO, stride 64k", "openmpi", 2, "$((2 * N))"),
    _mpi("other", "MPI-IO, file view", "openmpi", 2, "$((2 * N)) view"),
)


def random_order(reads: int) -> str:
    """The same for each run."""
    cells = random.Random(5).sample(range(reads + reads // 4), reads)
    return "read [" + ", ".join(f"{cell * 262_144} 1024" for cell in cells) + "]"
