# SPDX-License-Identifier: Apache-2.0
"""Starts programs with the preloaded library of `forebay run`, and the agent of their job.

The first launcher of a job on a node starts the agent. The others connect to it, so that one agent
serves all ranks of an MPI job.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import click

from forebay import escaped_programs, native
from forebay.errors import ForebayError

LIBRARY = "libforebay_run.so"
AGENT = "forebay-run-agent"
SITE_SWITCH = Path("/etc/forebay/run-off")  # exists: `forebay run` only runs the program
START_TIMEOUT_S = 10
GREETING_TIMEOUT_S = 3
STARTS_MAX = 8  # an agent can end at once: that of another launcher was faster, and ended too
REPORT_TIMEOUT_S = 10
PROFILES_TIMEOUT_S = 2  # an agent that waits for storage writes them later
RELAYED_SIGNALS = frozenset(
    (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
)
CHECK_INTERVAL_S = 1
CONNECT_INTERVAL_S = 0.005
# Names of a job that launchers of MPI give to all their ranks.
JOB_VARIABLES = ("PMIX_NAMESPACE", "OMPI_MCA_orte_ess_jobid", "SLURM_JOB_ID", "PMI_JOBID")


@dataclass(frozen=True)
class RunOptions:
    """Paths are absolute."""

    profiles: Path | None = None  # None: nothing is remembered
    hints: Path | None = None  # a hint file for all processes
    trace: Path | None = None  # calls are recorded in this trace, and nothing is read ahead


class RefusedError(ForebayError):
    """The agent cannot do what the options ask for."""


def default_profiles() -> Path | None:
    """The directory of profiles: $XDG_CACHE_HOME/forebay, or ~/.cache/forebay. None without a
    home: the user may be in no table of users."""
    with contextlib.suppress(RuntimeError):
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "forebay"
    return None


def is_off() -> bool:
    """Whether the user or the site has switched foresight off."""
    return os.environ.get("FOREBAY_RUN") == "off" or SITE_SWITCH.exists()


def job_name(options: RunOptions) -> str:
    """The same for all ranks of an MPI job on this node, else that of this process.

    Launchers with other options, or in another container, have an agent of their own."""
    job = next((value for one in JOB_VARIABLES if (value := os.environ.get(one))), None)
    if job is None:  # Hydra starts all ranks of a node from one process
        job = os.getppid() if "PMI_RANK" in os.environ else os.getpid()
    namespaces = []
    with contextlib.suppress(OSError):
        namespaces = [os.stat(f"/proc/self/ns/{kind}").st_ino for kind in ("pid", "mnt")]
    key = repr((job, namespaces, options)).encode(errors="surrogateescape")
    return f"forebay-run-{os.geteuid()}-{hashlib.sha256(key).hexdigest()[:32]}"


def run(
    command: list[str], options: RunOptions, is_reported: bool = True
) -> tuple[int, dict | None]:
    """Runs a program under the agent of its job. Returns its exit status as a shell does, and the
    report, if it is requested and this launcher is the last one of the job. Without an agent, or
    without its answer, a warning is printed."""
    if is_off():
        if is_reported:
            _warn(f"FOREBAY_RUN=off or {SITE_SWITCH} switches recording off; there is no report")
        return run_program(command, environment(None)), None
    try:
        connected = find_agent(options)
    except RefusedError:
        raise
    except ForebayError as error:
        _warn(f"{error}; the program runs without foresight")
        connected = contextlib.nullcontext()
    begin = time.monotonic()
    with connected as agent:
        code = run_program(command, environment(agent))
        seconds = time.monotonic() - begin
        document = _end(agent, is_reported) if agent else None
    if document is None or not is_reported:
        return code, None
    programs = [command[0], *document.pop("programs")]
    facts = {"command": command, "seconds": seconds, "exit_status": code}
    return code, facts | document | {"escaped": escaped_programs.escaped(programs)}


def _end(agent: "AgentConnection", is_reported: bool) -> dict | None:
    try:
        return agent.end(REPORT_TIMEOUT_S if is_reported else PROFILES_TIMEOUT_S)
    except (OSError, ValueError):
        if is_reported:
            _warn(
                f"the agent was killed, or has not answered for {REPORT_TIMEOUT_S} s; there is no "
                "report, and a trace may lack its last records"
            )
    return None


def _warn(text: str) -> None:
    click.echo(f"forebay: warning: {text}", err=True)


def find_agent(options: RunOptions) -> "AgentConnection":
    """The agent of this job, started if there is none. Raises a ForebayError if that fails."""
    usable_library()
    name = job_name(options)
    deadline = time.monotonic() + START_TIMEOUT_S
    agent, process, starts = connect(name), None, 0
    while agent is None:
        if time.monotonic() >= deadline or starts == STARTS_MAX:
            raise ForebayError("no agent started")
        # That of another launcher may have ended meanwhile.
        if process is None or process.poll() is not None:
            process, starts = start_agent(name, options), starts + 1
        time.sleep(CONNECT_INTERVAL_S)
        agent = connect(name)
    return agent


def connect(name: str) -> "AgentConnection | None":
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(GREETING_TIMEOUT_S)
        connection.connect("\0" + name)
        if owner_of(connection) not in (os.geteuid(), 0):
            raise PermissionError
        return AgentConnection(connection)
    except (OSError, ValueError, KeyError):
        connection.close()
        return None


def owner_of(connection: socket.socket) -> int:
    """The user of the process at the other end: any user can take an abstract name."""
    size = struct.calcsize("3i")
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return struct.unpack("3i", credentials)[1]


def start_agent(name: str, options: RunOptions) -> subprocess.Popen:
    """Starts the agent in a session of its own: signals for the program do not end it."""
    command = [str(native.find_program(AGENT).absolute()), "--name", name]
    for name, path in vars(options).items():
        command += [f"--{name}", str(path)] if path else []
    null = subprocess.DEVNULL
    hidden = ("LD_PRELOAD", "FOREBAY_RUN_MEMORY")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    try:
        return subprocess.Popen(
            command, stdin=null, stdout=null, stderr=null, start_new_session=True, cwd="/", env=env
        )
    except OSError as error:
        raise ForebayError(f"no agent started: {error.strerror}") from None


class AgentConnection:
    """A connection of a launcher. The agent ends when no launcher is connected."""

    def __init__(self, connection: socket.socket):
        self._connection = connection
        self._lines = connection.makefile("rb")
        greeting = json.loads(self._lines.readline())
        for key, error in (("refused", RefusedError), ("failed", ForebayError)):
            if key in greeting:
                connection.close()
                raise error(greeting[key])
        self.memory_path = greeting["memory"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._lines.close()  # shares the descriptor
        self._connection.close()

    def end(self, limit_s: float = REPORT_TIMEOUT_S) -> dict | None:
        """The report of the job; None if other launchers still use the agent. Raises an OSError or
        ValueError if it has died, or has not answered in time."""
        self._connection.settimeout(limit_s)
        self._connection.shutdown(socket.SHUT_WR)
        return json.loads(self._lines.readline())


def usable_library() -> str:
    """The path of the library. Raises a ForebayError if LD_PRELOAD cannot name it."""
    library = str(native.find_program(LIBRARY).absolute())  # programs change their directory
    if re.search("[ :]", library):
        reason = "LD_PRELOAD separates paths by spaces and colons"
        raise ForebayError(f"{library} cannot be preloaded: {reason}; install Forebay elsewhere")
    return library


def environment(agent: AgentConnection | None) -> dict[str, str]:
    """The environment of the program: that of this process, and the library in front of others
    that are preloaded. Without an agent, that of this process."""
    env = dict(os.environ)
    # Python sets LC_CTYPE in the locale C (PEP 538).
    with contextlib.suppress(OSError):
        initial = Path("/proc/self/environ").read_bytes().split(b"\0")
        env.pop("LC_CTYPE", None)
        env |= (os.fsdecode(one).split("=", 1) for one in initial if one[:9] == b"LC_CTYPE=")
    if agent is None:
        return env
    others = [one for one in re.split("[ :]", env.get("LD_PRELOAD", "")) if one]
    # Of an outer `forebay run`: calls are recorded once.
    others = [one for one in others if os.path.basename(one) != LIBRARY]
    # GCC's address sanitizer would refuse to start behind another library.
    order, sanitizer = "verify_asan_link_order=0", env.get("ASAN_OPTIONS", "")
    if order not in sanitizer:
        sanitizer = f"{sanitizer}:{order}".lstrip(":")
    return env | {
        "LD_PRELOAD": ":".join([usable_library(), *others]),
        "FOREBAY_RUN_MEMORY": agent.memory_path,
        "ASAN_OPTIONS": sanitizer,
    }


def run_program(command: list[str], env: dict[str, str]) -> int:
    """Runs a program to its end, and returns its exit status as a shell does.

    Signals that other processes send are passed on. Those of the terminal reach the program itself.
    Called by the main thread: other threads have these signals blocked.
    """
    is_child_ignored = signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # else the kernel drops the exit status
    # Blocked before the start, so none is lost, and a signal that is ignored stays so after exec().
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, RELAYED_SIGNALS | {signal.SIGCHLD})

    def restore_signals():
        if is_child_ignored:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        for number in RELAYED_SIGNALS:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)  # Python's handler would lose it
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    try:
        code = _wait_and_relay(_start(command, env, restore_signals))
        while signal.sigtimedwait(RELAYED_SIGNALS, 0):
            pass  # for the program, which has ended
    except FileNotFoundError:
        raise ForebayError(f"{command[0]}: no such program", 127) from None
    except OSError as error:
        raise ForebayError(f"{command[0]}: {error.strerror}", 126) from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return code if code >= 0 else 128 - code


def _start(command: list[str], env: dict[str, str], prepare) -> subprocess.Popen:
    """Starts a program, and a script without an interpreter by the shell, as execvp() does."""
    try:
        return subprocess.Popen(command, env=env, close_fds=False, preexec_fn=prepare)
    except OSError as error:
        script = shutil.which(command[0], path=env.get("PATH"))
        if error.errno != errno.ENOEXEC or script is None:
            raise
        return _start(["/bin/sh", script, *command[1:]], env, prepare)


def _wait_and_relay(process: subprocess.Popen) -> int:
    while (code := process.poll()) is None:
        received = signal.sigtimedwait(RELAYED_SIGNALS | {signal.SIGCHLD}, CHECK_INTERVAL_S)
        is_passed = received and received.si_signo != signal.SIGCHLD and received.si_code <= 0
        if is_passed:
            process.send_signal(received.si_signo)
    return code
