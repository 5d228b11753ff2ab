# SPDX-License-Identifier: Apache-2.0
"""Loads the native tools, functions of an extension module, and runs the native programs, of which
each prints one JSON document and reports progress meanwhile.

A service prints its document when it is ready, and keeps running. A child gets a separate process
group, all of which ends with this process: by SIGTERM, then by SIGKILL if it has not ended.
"""

import contextlib
import ctypes
import importlib.machinery
import importlib.util
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from forebay.errors import (
    EXIT_SIGNAL,
    EXIT_USAGE,
    RAISED_BY_SIGNALS,
    ForebayError,
    NativeError,
    SkippedError,
)

TOOLS = "_forebay_tools"
KILL_AFTER_S = 5
OTHER_LINES_MAX = 20
WARNING = "forebay: warning: "  # before each line of a StreamLog of that level
TASKS_BENCH_PROGRAM = "forebay-bench-tasks"  # `forebay demo` runs it, so it is in the product
# What `make build` omits, to be fast; `make product` builds it.
EXTRA_PROGRAMS = (
    TASKS_BENCH_PROGRAM,
    "forebay-cube",
    "forebay-cube-mpi",
    "forebay-emufs",
    "forebay-tipsy",
)
EXIT_SKIPPED = 77  # as in test programs; the printed line is the reason
SKIPPED = "skipped: "
HOSTS_SCRIPT = "two_hosts.py"
OPEN_MPI_LAUNCHERS = ("orterun", "prterun")  # what its mpiexec is a link to
SOURCE_DIRECTORY = Path(__file__).parents[2]  # if this package is used from a source tree
PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>


@dataclass(frozen=True)
class Progress:
    """One report of progress by a native tool or program."""

    done: int
    total: int
    unit: str
    what: str


@dataclass(frozen=True)
class ProgramUsage:
    """What a program has used, without its children: of several ranks, what the launcher has used.

    `written_bytes` were passed to the system for writing: the maximum of its two counters, as one
    counts write(2) and the other io_uring. None if it has neither.
    """

    seconds: float
    memory_bytes: int  # maximum of the resident set
    written_bytes: int | None


@dataclass(frozen=True)
class ProgramResult:
    """The document that a program printed, its exit code, and what it has used."""

    document: object
    exit_code: int
    usage: ProgramUsage | None = None


@dataclass(frozen=True)
class TwoHosts:
    """Two hosts made of namespaces of this machine, and the link between them; requires root."""

    ranks_per_host: int
    link_mbyte_per_second: int


@dataclass(frozen=True)
class OpenMpi:
    """Ranks on this machine of a program that was built with Debian's Open MPI."""

    ranks: int


@dataclass(frozen=True)
class Launcher:
    """Ranks started by a command of the user, with {n} in place of their number."""

    command: str
    ranks: int

    def words(self) -> list[str]:
        words = shlex.split(self.command)
        if not any("{n}" in word for word in words):
            message = f"the launcher {self.command!r} has no {{n}} for the number of ranks"
            raise ForebayError(f'{message}; write it as "srun -n {{n}}"', EXIT_USAGE)
        return [word.replace("{n}", str(self.ranks)) for word in words]


Ranks = int | TwoHosts | OpenMpi | Launcher
OnProgress = Callable[[Progress], None]


def program_folder() -> Path:
    """The folder of native programs: FOREBAY_LIBEXEC, else in this package as a wheel installs it,
    else beside this Python."""
    chosen = os.environ.get("FOREBAY_LIBEXEC")
    wheel = Path(__file__).parent / "prefix"
    prefix = wheel if wheel.is_dir() else Path(sys.prefix)
    return Path(chosen) if chosen else prefix / "libexec" / "forebay"


def tools() -> ModuleType:
    """The extension module with the native tools, which is among the native programs."""
    if TOOLS in sys.modules:
        return sys.modules[TOOLS]
    folder = program_folder()
    spec = importlib.machinery.PathFinder.find_spec(TOOLS, [str(folder)])
    if spec is None:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        raise ForebayError(f"{TOOLS} for Python {version} is not in {folder}; {install_hint()}")
    try:
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    except ImportError as error:
        raise ForebayError(f"{TOOLS} cannot be loaded: {error}; {install_hint()}") from None
    return sys.modules.setdefault(TOOLS, module)


def find_program(name: str) -> Path:
    """The path of a native program."""
    folder = program_folder()
    path = folder / name
    if not path.is_file() or not os.access(path, os.X_OK):
        raise ForebayError(f"{name} is not in {folder}; {install_hint(name)}")
    return path


def is_source_tree() -> bool:
    """Whether this package lies in the source tree of Forebay, not in an installed prefix."""
    return (SOURCE_DIRECTORY / "Makefile").is_file()


def install_hint(name: str = "") -> str:
    """What installs a native program: make in a source tree, or CMake for an installed prefix."""
    is_extra = name in EXTRA_PROGRAMS
    is_bench = name.startswith("forebay-bench") and not is_extra
    if is_source_tree():
        return f"run make {'bench' if is_bench else 'product' if is_extra else 'build'}"
    build = "build the target product, then " if is_extra else ""
    return f"{build}run cmake --install with --component {'bench' if is_bench else 'product'}"


def option_arguments(options: dict) -> list[str]:
    """Options of a command as arguments of a program: same names, absent if not given."""
    args = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            args.append(option)
        elif value is not None and value is not False:
            args += [option, str(value)]
    return args


def is_built(name: str) -> bool:
    """Whether a native program was built here. Programs for MPI are not built without MPI."""
    try:
        find_program(name)
    except ForebayError:
        return False
    return True


def launcher(ranks: Ranks) -> list[str]:
    """The command that starts a native program on several ranks, here or on two hosts."""
    if isinstance(ranks, int):
        return [*mpi_launcher(), "-n", str(ranks)]
    if isinstance(ranks, Launcher):
        return ranks.words()
    if isinstance(ranks, OpenMpi):
        return [*openmpi_launcher(), "-n", str(ranks.ranks)]
    settings = ["--library", "MPICH", "--ranks-per-host", str(ranks.ranks_per_host)]
    settings += ["--rate-mbyte", str(ranks.link_mbyte_per_second)]
    return [sys.executable, str(find_program(HOSTS_SCRIPT)), *settings, "--", *mpi_launcher(), ":"]


def mpi_launcher() -> list[str]:
    """The launcher of the MPI beside this Python."""
    path = Path(sys.prefix) / "bin" / "mpiexec"
    if not os.access(path, os.X_OK):
        hint = install_hint() if is_source_tree() else "install MPICH there"
        raise ForebayError(f"no mpiexec in {path.parent}; {hint}")
    if path.resolve().name in OPEN_MPI_LAUNCHERS:  # as beside Debian's Python
        return openmpi_launcher(str(path))
    # A waiting rank yields its core to a working one early.
    return [str(path), "-genv", "MPIR_CVAR_POLLS_BEFORE_YIELD", "10"]


def openmpi_launcher(program: str = "mpiexec.openmpi") -> list[str]:
    """Debian's launcher, by its full name: with two MPIs installed, mpiexec is ambiguous."""
    args = [program, "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
    # It would bind one or two ranks, and so all their threads, to a core each. MPICH does not.
    args += ["--bind-to", "none"]
    # These suppress warnings about missing hardware and about what a container forbids.
    args += ["--mca", "btl_base_warn_component_unused", "0", "--mca", "osc", "^ucx"]
    args += ["--mca", "btl_vader_single_copy_mechanism", "none"]
    return [*args, "--allow-run-as-root"] if os.geteuid() == 0 else args


def run_program(
    name: str,
    arguments: Iterable[str],
    on_progress: OnProgress | None = None,
    accepted_codes: tuple[int, ...] = (0,),
    ranks: Ranks | None = None,
) -> ProgramResult:
    """Runs a program to its end. Exit codes in `accepted_codes` are results; others raise a
    NativeError.

    With `ranks`, MPI's launcher starts that number of ranks, or ranks on two hosts. If these are
    not available, raises a SkippedError with the reason.
    Blocks. An exception meanwhile (Ctrl-C, a termination) ends the child before it propagates.
    """
    command = [*(launcher(ranks) if ranks else []), str(find_program(name)), *arguments]
    if on_progress is not None:
        command.append("--progress")
    begin = time.perf_counter()
    with os.fdopen(os.memfd_create(name), "r+b") as output:
        process = _start(command, output, subprocess.PIPE)
        stderr = _StderrParser(on_progress)
        try:
            for line in process.stderr:
                stderr.feed(line)
            usage = _wait(process, begin)
        finally:
            stop_group(process)
            process.stderr.close()
        output.seek(0)
        text = output.read().decode(errors="replace")
    result = _make_result(name, process.returncode, text, stderr, accepted_codes)
    return replace(result, usage=usage)


def _wait(process: subprocess.Popen, begin: float) -> ProgramUsage:
    """Waits for the end of a program that was started at `begin`. The counters of its I/O exist
    until it is reaped."""
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    seconds = time.perf_counter() - begin
    written = None
    with contextlib.suppress(OSError):
        counts = Path(f"/proc/{process.pid}/io").read_text(encoding="ascii").split()
        values = dict(zip(counts[::2], map(int, counts[1::2]), strict=True))
        written = max(values["wchar:"], values["write_bytes:"])
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return ProgramUsage(seconds, used.ru_maxrss * 1024, written)


@contextlib.contextmanager
def running_service(name: str, arguments: Iterable[str]):
    """Starts a program that prints a document when it is ready and keeps running. Yields the
    document.

    When the `with` block ends, for any reason, the program gets SIGTERM, then SIGKILL if it has not
    ended, and has ended before execution continues. If this process is killed, the kernel sends it
    SIGTERM.
    """
    with os.fdopen(os.memfd_create(name), "r+b") as errors:
        process = _start([str(find_program(name)), *arguments], subprocess.PIPE, errors)
        try:
            document = _first_document(process.stdout)
            if document is None:
                _raise_failure(name, process.wait(), errors)
            yield document
        finally:
            stop_group(process)
            process.stdout.close()


def _first_document(lines: Iterable[bytes]):
    text = ""
    for line in lines:
        text += line.decode(errors="replace")
        if (document := _document_of(text)) is not None:
            return document
    return None


def _raise_failure(name: str, exit_code: int, errors) -> NoReturn:
    """Raises the failure of a program that ended before it was ready, whatever its exit code."""
    errors.seek(0)
    stderr = _StderrParser(None)
    for line in errors:
        stderr.feed(line)
    _make_result(name, exit_code, "", stderr, accepted_codes=())
    raise AssertionError("no exit code is accepted")


def _start(command: list[str], stdout, stderr) -> subprocess.Popen:
    libc = ctypes.CDLL(None)
    # What it starts, such as python3 and mpiexec, is that beside this Python.
    paths = [str(Path(sys.prefix) / "bin"), os.environ.get("PATH", os.defpath)]

    def end_with_parent():
        # If this process is killed and cannot clean up, the kernel signals the child.
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)

    raised = len(RAISED_BY_SIGNALS)
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            process_group=0,
            preexec_fn=end_with_parent,
            env=os.environ | {"PATH": os.pathsep.join(paths)},
        )
    except OSError as error:
        message = f"{command[0]} cannot be run: {error.strerror}; {install_hint()}"
        raise ForebayError(message) from None
    if len(RAISED_BY_SIGNALS) > raised:  # lost: functions that Python calls at a fork drop it
        stop_group(process)
        raise RAISED_BY_SIGNALS[-1]
    return process


def stop_group(process: subprocess.Popen) -> None:
    """Ends all processes of the child's process group."""
    try:
        if process.poll() is None:
            _signal_group(process, signal.SIGTERM)
            process.wait(KILL_AFTER_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        pass
    finally:
        _signal_group(process, signal.SIGKILL)
        process.wait()


def _signal_group(process: subprocess.Popen, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # the group is empty
        os.killpg(process.pid, number)


class _StderrParser:
    """Parses lines of standard error. Passes on progress and warnings at once; keeps an error."""

    def __init__(self, on_progress: OnProgress | None):
        self.on_progress = on_progress
        self.error: dict | None = None
        self.other_lines: list[str] = []

    def feed(self, line: bytes) -> None:
        message = _object_of(line)
        if isinstance(message.get("error"), dict):
            self.error = message["error"]
        elif "progress" in message:
            if self.on_progress is not None:
                self.on_progress(_progress_of(message))
        elif text := line.decode(errors="replace").strip():
            self.other_lines = [*self.other_lines, text][-OTHER_LINES_MAX:]
            # Otherwise a wait, such as for the former writer of a dataset, would look like work.
            if text.startswith(WARNING) and self.on_progress is not None:
                self.on_progress(Progress(0, 0, "", text.removeprefix(WARNING)))


def _object_of(line: bytes) -> dict:
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def _progress_of(message: dict) -> Progress:
    return Progress(
        message["progress"],
        message.get("total", 0),
        message.get("unit", ""),
        message.get("what", ""),
    )


def _make_result(
    name: str, exit_code: int, text: str, stderr: _StderrParser, accepted_codes: tuple[int, ...]
) -> ProgramResult:
    document = _document_of(text)
    if exit_code < 0:
        raise ForebayError(_signal_message(name, -exit_code, stderr), EXIT_SIGNAL - exit_code)
    if exit_code == EXIT_SKIPPED and text.startswith(SKIPPED):
        raise SkippedError(text.removeprefix(SKIPPED))
    if exit_code not in accepted_codes:
        if stderr.error is not None:
            raise NativeError(stderr.error, document, name)
        last_line = stderr.other_lines[-1] if stderr.other_lines else "none"
        raise ForebayError(f"{name} ended with code {exit_code}; its last line: {last_line}")
    if document is None:
        raise ForebayError(f"{name} printed no JSON, so its version differs; {install_hint(name)}")
    return ProgramResult(document, exit_code)


def _document_of(text: str):
    try:
        return json.loads(text)
    except ValueError:
        return None


def _signal_message(name: str, number: int, stderr: _StderrParser) -> str:
    cause = signal.Signals(number).name
    if number == signal.SIGKILL:
        return f"{name} was killed ({cause}); if memory was short, the kernel's log (dmesg) has it"
    last_line = f"; its last line: {stderr.other_lines[-1]}" if stderr.other_lines else ""
    return f"{name} died of {cause}{last_line}"
