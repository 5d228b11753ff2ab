# SPDX-License-Identifier: Apache-2.0
"""Calling the native programs: one JSON document comes back, progress comes on the way.

A program that serves others says when it is ready and stays. A child gets a process group of its
own, so that whatever ends us ends all of it: it is asked with TERM, and killed when it does not
listen.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from forebay.errors import EXIT_SIGNAL, ForebayError, NativeError, SkippedError

KILL_AFTER_S = 5
NOISE_LINES_KEPT = 20
WARNING = "forebay: warning: "  # before each line of a StreamLog of that level
BENCH_OF_PRODUCT = "forebay-bench-tasks"  # what `forebay demo` runs: `make build` builds it
EXIT_SKIPPED = 77  # as test programs have it; its reason is the line that it printed
SKIPPED = "skipped: "
HOSTS_SCRIPT = "two_hosts.py"
PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>


@dataclass(frozen=True)
class Progress:
    """One step of work under way, as a native program tells it."""

    done: int
    total: int
    unit: str
    what: str


@dataclass(frozen=True)
class Answer:
    """What a program printed, and how it ended."""

    document: object
    exit_code: int


@dataclass(frozen=True)
class TwoHosts:
    """Two hosts made of namespaces of this machine, which takes root, and the link between them."""

    ranks_per_host: int
    link_mbyte_per_second: int


@dataclass(frozen=True)
class OpenMpi:
    """Ranks on this machine of a program that was built with Debian's Open MPI."""

    ranks: int


OnProgress = Callable[[Progress], None]


def find(name: str) -> Path:
    """The path of a native program: in FOREBAY_LIBEXEC, else beside this Python."""
    chosen = os.environ.get("FOREBAY_LIBEXEC")
    folder = Path(chosen) if chosen else Path(sys.prefix) / "libexec" / "forebay"
    path = folder / name
    if not path.is_file() or not os.access(path, os.X_OK):
        raise ForebayError(f"{name} is not in {folder}; run make {target_of(name)}")
    return path


def target_of(name: str) -> str:
    """What to make, so that a native program is built."""
    is_further = name.startswith("forebay-bench") and name != BENCH_OF_PRODUCT
    return "bench" if is_further else "build"


def options_of(options: dict) -> list[str]:
    """Options of a command as words for a program: same names, absent where not given."""
    words = []
    for name, value in options.items():
        option = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            words += [option, str(value)]
    return words


def is_there(name: str) -> bool:
    """Whether a native program was built here: those for MPI are not, where there is none."""
    try:
        find(name)
    except ForebayError:
        return False
    return True


def launcher(ranks: int | TwoHosts | OpenMpi) -> list[str]:
    """What starts a native program on several ranks, here or on two hosts."""
    if isinstance(ranks, int):
        return [*mpi_launcher(), "-n", str(ranks)]
    if isinstance(ranks, OpenMpi):
        return [*openmpi_launcher(), "-n", str(ranks.ranks)]
    settings = ["--library", "MPICH", "--ranks-per-host", str(ranks.ranks_per_host)]
    settings += ["--rate-mbyte", str(ranks.link_mbyte_per_second)]
    return [sys.executable, str(find(HOSTS_SCRIPT)), *settings, "--", *mpi_launcher(), ":"]


def mpi_launcher() -> list[str]:
    """The launcher of the MPI beside this Python."""
    path = Path(sys.prefix) / "bin" / "mpiexec"
    if not os.access(path, os.X_OK):
        raise ForebayError(f"no mpiexec in {path.parent}; run make build")
    # A rank that waits gives its core to one that works, early.
    return [str(path), "-genv", "MPIR_CVAR_POLLS_BEFORE_YIELD", "10"]


def openmpi_launcher() -> list[str]:
    """Debian's, by its full name: where two MPIs are installed, mpiexec alone is either."""
    words = ["mpiexec.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
    # It says nothing about hardware that is not there, nor of what a container forbids.
    words += ["--mca", "btl_base_warn_component_unused", "0", "--mca", "osc", "^ucx"]
    words += ["--mca", "btl_vader_single_copy_mechanism", "none"]
    return [*words, "--allow-run-as-root"] if os.geteuid() == 0 else words


def call(
    name: str,
    arguments: Iterable[str],
    on_progress: OnProgress | None = None,
    answers: tuple[int, ...] = (0,),
    ranks: int | TwoHosts | OpenMpi | None = None,
) -> Answer:
    """Runs a program to its end. Exit codes in `answers` are answers; others are a NativeError.

    With `ranks` it is started on so many by MPI's launcher, or on hosts, where these can be had:
    otherwise that is a SkippedError with the reason.
    Blocks. Whatever is raised meanwhile (Ctrl-C, a termination) ends the child before it goes on.
    """
    command = [*(launcher(ranks) if ranks else []), str(find(name)), *arguments]
    if on_progress is not None:
        command.append("--progress")
    with os.fdopen(os.memfd_create(name), "r+b") as output:
        process = _start(command, output, subprocess.PIPE)
        stderr = _Stderr(on_progress)
        try:
            for line in process.stderr:
                stderr.take(line)
            exit_code = process.wait()
        finally:
            _end(process)
            process.stderr.close()
        output.seek(0)
        text = output.read().decode(errors="replace")
    return _answer(name, exit_code, text, stderr, answers)


@contextlib.contextmanager
def serving(name: str, arguments: Iterable[str]):
    """Starts a program that prints a document when it is ready and then stays; gives the document.

    However the `with` ends, the program is asked to end before it goes on, and killed when it does
    not listen. Should we be killed, the kernel asks it.
    """
    with os.fdopen(os.memfd_create(name), "r+b") as errors:
        process = _start([str(find(name)), *arguments], subprocess.PIPE, errors)
        try:
            document = _first_document(process.stdout)
            if document is None:
                _raise_failure(name, process.wait(), errors)
            yield document
        finally:
            _end(process)
            process.stdout.close()


@contextlib.contextmanager
def streaming(name: str, arguments: Iterable[str]):
    """Starts a program that writes bytes; gives its standard output as a stream to read to its end.

    If the program fails, or its bytes end too early (who reads says so with EOFError), that is the
    NativeError of the program. However the `with` ends, the program does before it goes on.
    """
    with os.fdopen(os.memfd_create(name), "r+b") as errors:
        process = _start([str(find(name)), *arguments], subprocess.PIPE, errors)
        try:
            with contextlib.suppress(EOFError):
                yield process.stdout
                if process.wait() == 0:
                    return
            _raise_failure(name, process.wait(), errors)
        finally:
            _end(process)
            process.stdout.close()


def _first_document(lines: Iterable[bytes]):
    text = ""
    for line in lines:
        text += line.decode(errors="replace")
        if (document := _document_of(text)) is not None:
            return document
    return None


def _raise_failure(name: str, exit_code: int, errors) -> NoReturn:
    """Of a program that ended before it was ready, whatever its exit code."""
    errors.seek(0)
    stderr = _Stderr(None)
    for line in errors:
        stderr.take(line)
    _answer(name, exit_code, "", stderr, answers=())
    raise AssertionError("no exit code is an answer")


def _start(command: list[str], stdout, stderr) -> subprocess.Popen:
    libc = ctypes.CDLL(None)

    def end_with_parent():
        # Should we be killed without a chance to clean up, the kernel tells the child.
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)

    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            process_group=0,
            preexec_fn=end_with_parent,
        )
    except OSError as error:
        message = f"{command[0]} cannot be run: {error.strerror}; run make build"
        raise ForebayError(message) from None


def _end(process: subprocess.Popen) -> None:
    """Makes sure that nothing of the child's process group is left."""
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
    with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody is left in it
        os.killpg(process.pid, number)


class _Stderr:
    """Sorts the lines of standard error: progress and warnings go on at once, an error is kept."""

    def __init__(self, on_progress: OnProgress | None):
        self.on_progress = on_progress
        self.error: dict | None = None
        self.noise: list[str] = []

    def take(self, line: bytes) -> None:
        message = _object_of(line)
        if isinstance(message.get("error"), dict):
            self.error = message["error"]
        elif "progress" in message:
            if self.on_progress is not None:
                self.on_progress(_progress_of(message))
        elif text := line.decode(errors="replace").strip():
            self.noise = [*self.noise, text][-NOISE_LINES_KEPT:]
            # A wait, for the former writer of a dataset say, would look like the work otherwise.
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


def _answer(
    name: str, exit_code: int, text: str, stderr: _Stderr, answers: tuple[int, ...]
) -> Answer:
    document = _document_of(text)
    if exit_code < 0:
        raise ForebayError(_death(name, -exit_code, stderr), EXIT_SIGNAL - exit_code)
    if exit_code == EXIT_SKIPPED and text.startswith(SKIPPED):
        raise SkippedError(text.removeprefix(SKIPPED))
    if exit_code not in answers:
        if stderr.error is not None:
            raise NativeError(stderr.error, document, name)
        said = stderr.noise[-1] if stderr.noise else "nothing"
        raise ForebayError(f"{name} ended with code {exit_code} and said: {said}")
    if document is None:
        raise ForebayError(f"{name} printed no JSON; it is of another version: run make build")
    return Answer(document, exit_code)


def _document_of(text: str):
    try:
        return json.loads(text)
    except ValueError:
        return None


def _death(name: str, number: int, stderr: _Stderr) -> str:
    cause = signal.Signals(number).name
    if number == signal.SIGKILL:
        return f"{name} was killed ({cause}); was memory short? The kernel's log (dmesg) says so"
    said = f"; its last line: {stderr.noise[-1]}" if stderr.noise else ""
    return f"{name} died of {cause}{said}"
