# SPDX-License-Identifier: Apache-2.0
"""Starts programs with the preloaded library of `forebay run`, and the agent of their job.

The first launcher of a job on a node starts the agent. The others connect to it, so that one agent
serves all ranks of an MPI job.
"""

import contextlib
import json
import os
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from forebay import native
from forebay.errors import ForebayError

LIBRARY = "libforebay_run.so"
AGENT = "forebay-run-agent"
SITE_SWITCH = Path("/etc/forebay/run-off")  # exists: `forebay run` only runs the program
START_TIMEOUT_S = 5
END_TIMEOUT_S = 10
PASSED_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
CONNECT_INTERVAL_S = 0.005
NAME_BYTES_MAX = 100
# Names of a job that launchers of MPI give to all their ranks.
JOB_VARIABLES = ("PMIX_NAMESPACE", "OMPI_MCA_orte_ess_jobid", "SLURM_JOB_ID", "PMI_JOBID")


@dataclass(frozen=True)
class RunOptions:
    profiles: Path | None = None  # None: nothing is remembered


def default_profiles() -> Path:
    """The directory of profiles: $XDG_CACHE_HOME/forebay, or ~/.cache/forebay."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "forebay"


def is_off() -> bool:
    """Whether the user or the site has switched foresight off."""
    return os.environ.get("FOREBAY_RUN") == "off" or SITE_SWITCH.exists()


def job_name() -> str:
    """The same for all ranks of an MPI job on this node, else that of this process."""
    for variable in JOB_VARIABLES:
        if value := os.environ.get(variable):
            return f"forebay-run-{os.geteuid()}-{value}"[:NAME_BYTES_MAX]
    # Hydra starts all ranks of a node from one process.
    process = os.getppid() if "PMI_RANK" in os.environ else os.getpid()
    return f"forebay-run-{os.geteuid()}-{process}"


@contextlib.contextmanager
def connected_agent(options: RunOptions) -> Iterator["AgentConnection | None"]:
    """The agent of this job, started if there is none; None if it does not start."""
    with find_agent(job_name(), options) or contextlib.nullcontext() as agent:
        yield agent


def find_agent(name: str, options: RunOptions) -> "AgentConnection | None":
    agent, process = connect(name), None
    deadline = time.monotonic() + START_TIMEOUT_S
    while agent is None and time.monotonic() < deadline:
        # That of another launcher may have ended meanwhile.
        if process is None or process.poll() is not None:
            process = start_agent(name, options)
        time.sleep(CONNECT_INTERVAL_S)
        agent = connect(name)
    return agent


def connect(name: str) -> "AgentConnection | None":
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(START_TIMEOUT_S)
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
    command = [str(native.find_program(AGENT)), "--name", name]
    if options.profiles:
        command += ["--profiles", str(options.profiles.absolute())]
    null = subprocess.DEVNULL
    hidden = ("LD_PRELOAD", "FOREBAY_RUN_MEMORY")
    env = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.Popen(
        command, stdin=null, stdout=null, stderr=null, start_new_session=True, cwd="/", env=env
    )


class AgentConnection:
    """A connection of a launcher. The agent ends when no launcher is connected."""

    def __init__(self, connection: socket.socket):
        self._connection = connection
        self._lines = connection.makefile("rb")
        self.memory_path = json.loads(self._lines.readline())["memory"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()

    def end(self) -> dict | None:
        """The report of the job; None if other launchers still use the agent, or if it has died."""
        with contextlib.suppress(OSError, ValueError):
            self._connection.settimeout(END_TIMEOUT_S)
            self._connection.shutdown(socket.SHUT_WR)
            return json.loads(self._lines.readline())
        return None


def environment(memory_path: str) -> dict[str, str]:
    """That of this process, with the library in front of others that are preloaded.

    The address sanitizer of GCC would refuse to start behind it."""
    library = str(native.find_program(LIBRARY))
    others = os.environ.get("LD_PRELOAD", "")
    return os.environ | {
        "LD_PRELOAD": f"{library}:{others}" if others else library,
        "FOREBAY_RUN_MEMORY": memory_path,
        "ASAN_OPTIONS": ":".join(
            filter(None, [os.environ.get("ASAN_OPTIONS"), "verify_asan_link_order=0"])
        ),
    }


def run_program(command: list[str], env: dict[str, str] | None) -> int:
    """Runs a program to its end, and returns its exit status as a shell does.

    Signals that a terminal sends reach the program itself; others are passed on.
    """
    try:
        process = subprocess.Popen(command, env=env, close_fds=False)
    except FileNotFoundError:
        raise ForebayError(f"{command[0]}: no such program", 127) from None
    except OSError as error:
        raise ForebayError(f"{command[0]}: {error.strerror}", 126) from None
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGQUIT, signal.SIG_IGN)
    for number in PASSED_SIGNALS:
        signal.signal(number, lambda received, _frame: process.send_signal(received))
    code = process.wait()
    for number in PASSED_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    return code if code >= 0 else 128 - code
