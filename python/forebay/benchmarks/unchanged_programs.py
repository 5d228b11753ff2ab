# SPDX-License-Identifier: Apache-2.0
"""`forebay bench run`: programs that are not changed, with and without `forebay run`, on emulated
storage. Each runs on its own and under an agent in turn; its output must be the same."""

import contextlib
import itertools
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from forebay import emufs_mount, native, run_job
from forebay.benchmarks.program_table import PROGRAMS, Program, random_order
from forebay.benchmarks.rows import (
    Goal,
    Results,
    Setup,
    paired_rounds,
    ratios,
    require_space,
    worst_of,
)
from forebay.errors import ForebayError, SkippedError

READER = "forebay-bench-reader"
SCRIPT = "forebay-bench-programs.py"
FILES_BYTES = 1 << 30  # of all files, twice
# Clients of NFS keep attributes for 3 s (acregmin), those of Lustre as long as they have a lock.
CLIENT_CACHES = ("--attribute-cache", "3")
ROUNDS = 5
CALL_ROUNDS = 9
SHOWN_BYTES = 300  # of the output of a program that fails
AGENT_TIMEOUT_S = 10


@dataclass(frozen=True)
class Row:
    machine: str
    group: str  # of programs; empty: all
    is_second: bool  # a second run: the agent has the profiles of a first one
    goal: Goal | None = None

    @property
    def is_harm(self) -> bool:
        """Rows of programs that do not gain have the ratio to today's time, not its inverse."""
        return self.goal is not None and self.goal.better == "lower"


IDENTICAL = "run.identical"
CALL = "run.call_us"
ROWS = {
    IDENTICAL: Row("nfs", "", True),
    "run.first": Row("nfs", "wide", False, Goal(8)),
    "run.second": Row("nfs", "wide", True, Goal(12)),
    "run.random": Row("nfs", "random", True, Goal(10)),
    "run.series": Row("nfs", "series", False, Goal(1.8)),
    "run.import": Row("nfs", "import", True, Goal(3)),
    "run.harm": Row("nfs", "", True, Goal(1.05, "lower")),
    "run.sequential": Row("lustre-small", "long", False, Goal(2.5)),
    "run.harm.lustre": Row("lustre-small", "", False, Goal(1.05, "lower")),
}
IDS = (CALL, *ROWS)
_agents = itertools.count()


@contextlib.contextmanager
def running_agent(profiles: Path) -> Iterator[dict[str, str]]:
    """Starts an agent with these profiles. Yields the environment of programs that run under it. At
    the end the agent has written its profiles and has ended."""
    name = f"forebay-bench-run-{os.getpid()}-{next(_agents)}"
    process = run_job.start_agent(name, run_job.RunOptions(profiles))
    deadline = time.monotonic() + AGENT_TIMEOUT_S
    try:
        while (agent := run_job.connect(name)) is None:
            if (code := process.poll()) is not None:
                raise ForebayError(f"start agent {name}: it ended with code {code}")
            if time.monotonic() >= deadline:
                raise ForebayError(f"start agent {name}: no answer for {AGENT_TIMEOUT_S} s")
            time.sleep(run_job.CONNECT_INTERVAL_S)
        with agent:
            yield run_job.environment(agent)
        process.wait(AGENT_TIMEOUT_S)
    finally:
        process.kill()  # has no effect on one that has ended
        process.wait()


class Place:
    """Emulated storage with the files of the programs, on which they run and are timed."""

    def __init__(self, storage: emufs_mount.EmulatedStorage, folder: Path, reads: int):
        self.storage = storage
        self.folder = folder
        self.outputs: dict[str, bytes] = {}  # of the first run, by name
        self.variables = {
            "DIR": str(storage.path),
            "BIN": str(native.find_program(READER).parent),
            "N": str(reads),
            "ORDER": random_order(reads),
            "COPY": str(folder / "copy"),
            "PYTHONDONTWRITEBYTECODE": "1",
            # Python and mpiexec are those beside this Python.
            "PATH": os.pathsep.join((f"{sys.prefix}/bin", os.environ.get("PATH", os.defpath))),
        }

    def publish(self, files: Path) -> None:
        """Copies all files. They are created through the mount, so that they have a layout; their
        content takes no emulated time."""
        for source in sorted(files.rglob("*")):
            name = source.relative_to(files)
            if source.is_dir():
                (self.storage.path / name).mkdir()
            else:
                (self.storage.path / name).touch()
                shutil.copyfile(source, self.storage.backing / name)
        self.storage.drop_caches()

    def run_shell(self, command: str, environment: dict[str, str]) -> int:
        """Runs it to its end. An exception meanwhile ends all its processes."""
        process = subprocess.Popen(
            ["sh", "-c", command],
            env=environment | self.variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            process_group=0,
        )
        try:
            return process.wait()
        finally:
            native.stop_group(process)

    def unavailable_reason(self, program: Program) -> str:
        """Why the program cannot run; empty if it can."""
        needs = program.needs or "true"
        code = self.run_shell(f"{{ {needs}; }} 2> /dev/null", dict(os.environ))
        return f"it requires: {needs}" if code else ""

    def time(self, program: Program, environment: dict[str, str] | None = None) -> float:
        """Runs a program; returns its seconds. Its output, exit status and copied file must be
        those of the runs before."""
        output = self.folder / "output"
        command = f'{{ {program.command}; }} > {output} 2>&1; echo "status $?" >> {output}'
        environment = environment or run_job.environment(None)
        begin = time.perf_counter()
        self.run_shell(command, environment)
        seconds = time.perf_counter() - begin
        self.compare(program, output.read_bytes())
        return seconds

    def compare(self, program: Program, content: bytes) -> None:
        has_status = content.endswith(f"status {program.status}\n".encode())
        shown = content[-SHOWN_BYTES:].decode(errors="replace")
        copy = self.folder / "copy"
        if copy.exists():
            content += copy.read_bytes()
            copy.unlink()
        if self.outputs.setdefault(program.name, content) != content:
            cause = "its output or exit status differs between runs"
            raise ForebayError(f"run {program.name}: {cause}")
        if not has_status:
            raise ForebayError(f"run {program.name}: it failed: {shown}")

    def time_with_agent(self, program: Program, profiles: Path) -> float:
        with running_agent(profiles) as environment:
            return self.time(program, environment)


class Bench:
    def __init__(self, results: Results, setup: Setup):
        self.results = results
        self.folder = setup.storage
        self.is_quick = setup.effort == "quick"
        self.reads = 20 if self.is_quick else 200
        self.on_progress = setup.on_progress
        self.profiles = itertools.count()

    def run(self) -> None:
        if self.results.is_selected(CALL):
            self.add_call()
        selected = [(name, row) for name, row in ROWS.items() if self.results.is_selected(name)]
        for machine, rows in itertools.groupby(selected, self.machine_of):
            rows = list(rows)
            try:
                with self.place(machine) as place:
                    for name, row in rows:
                        (self.add_identical if name == IDENTICAL else self.add_row)(
                            place, name, row
                        )
            except SkippedError as error:
                for name, _ in rows:
                    self.results.skip(name, str(error))

    def machine_of(self, named: tuple[str, Row]) -> str:
        """A quick run compares outputs on storage without delays."""
        name, row = named
        return "local" if self.is_quick and name == IDENTICAL else row.machine

    @contextlib.contextmanager
    def place(self, machine: str) -> Iterator[Place]:
        """Mounts a machine with the files; they are made once in a run of the benchmark."""
        with emufs_mount.mounted_storage(machine, self.folder, CLIENT_CACHES) as storage:
            files = self.folder / "files"
            if not files.exists():
                require_space(self.folder, FILES_BYTES)
                script = [sys.executable, "-W", "ignore", str(native.find_program(SCRIPT))]
                run_checked([*script, "make", str(files), str(self.reads)])
            place = Place(storage, self.folder, self.reads)
            place.publish(files)
            yield place

    def new_profiles(self) -> Path:
        return self.folder / f"profiles-{next(self.profiles)}"

    def programs_of(self, place: Place, name: str, row: Row) -> list[Program]:
        """The programs of a row. Those that cannot run are left out with the reason."""
        found = []
        for program in PROGRAMS:
            is_of_all = program.group != "failing" or name == IDENTICAL
            if not (program.group == row.group if row.group else is_of_all):
                continue
            if why := place.unavailable_reason(program):
                self.results.skip(f"{name}: {program.name}", why)
            else:
                found.append(program)
        return found

    def add_row(self, place: Place, name: str, row: Row) -> None:
        """The worst program decides."""
        found, peers = [], {}
        for program in self.programs_of(place, name, row):
            for is_cold in (True, False):
                if not is_measured(row, program, is_cold):
                    continue
                times = self.compare(place, name, row, program, is_cold)
                for way, samples in times.items():
                    peers[f"{program.name}{'' if is_cold else ', warm'}, {way}"] = ("s", samples)
                today, ours = times["today"], times["forebay"]
                found.append(ratios(ours, today) if row.is_harm else ratios(today, ours))
        if found:
            self.results.add(name, "1", worst_of(found, row.goal), row.goal, peers)
        else:
            self.results.skip(name, "none of its programs can run")

    def compare(
        self, place: Place, name: str, row: Row, program: Program, is_cold: bool
    ) -> dict[str, list[float]]:
        """Times of a program on its own ("today") and under an agent ("forebay")."""
        learned = self.new_profiles()
        if row.is_second:
            place.storage.drop_caches()
            place.time_with_agent(program, learned)

        def prepare() -> None:
            if is_cold:
                place.storage.drop_caches()

        def today() -> float:
            prepare()
            return place.time(program)

        def ours() -> float:
            prepare()
            return place.time_with_agent(program, learned if row.is_second else self.new_profiles())

        rounds = 1 if self.is_quick else ROUNDS
        return paired_rounds(name, {"today": today, "forebay": ours}, rounds, self.on_progress)

    def add_identical(self, place: Place, name: str, row: Row) -> None:
        """Runs each program on its own, and in a first and a second run under an agent. Place fails
        at the first difference. A quick run has warm caches and no second run."""
        programs = self.programs_of(place, name, row)
        for done, program in enumerate(programs, 1):
            learned = self.new_profiles()
            for number in range(2 if self.is_quick else 3):
                if not self.is_quick:
                    place.storage.drop_caches()
                if number > 0:
                    place.time_with_agent(program, learned)
                else:
                    place.time(program)
            self.on_progress(native.Progress(done, len(programs), "programs", name))
        count = float(len(programs))
        self.results.add(name, "programs", [count], Goal(count))

    def add_call(self) -> None:
        """Microseconds of a cached pread() of 1 KiB, as the reader measures them: with library and
        agent, minus without."""
        file = self.folder / "called"
        file.write_bytes(bytes(1 << 20))
        reads = 10_000 if self.is_quick else 1_000_000

        def time_call(environment: dict[str, str]) -> float:
            command = [str(native.find_program(READER)), str(file), "--pread", str(reads)]
            return float(run_checked(command, environment)) / 1000

        def ours() -> float:
            with running_agent(self.folder / "profiles-call") as environment:
                return time_call(environment)

        variants = {"today": lambda: time_call(run_job.environment(None)), "forebay": ours}
        rounds = 1 if self.is_quick else CALL_ROUNDS
        times = paired_rounds(CALL, variants, rounds, self.on_progress)
        pairs = zip(times["forebay"], times["today"], strict=True)
        peers = {way: ("us", samples) for way, samples in times.items()}
        added = [one - other for one, other in pairs]
        self.results.add(CALL, "us", added, Goal(0.3, "lower"), peers)


def run_checked(command: list[str], environment: dict[str, str] | None = None) -> bytes:
    """The standard output of a command; raises a ForebayError if it fails."""
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    if done.returncode == 0:
        return done.stdout
    shown = done.stderr[-SHOWN_BYTES:].decode(errors="replace").strip()
    raise ForebayError(f"run {shlex.join(command)}: it ended with code {done.returncode}: {shown}")


def is_measured(row: Row, program: Program, is_cold: bool) -> bool:
    """Whether the row measures the program in this state. A row of harm leaves out what another row
    of the same storage has."""
    if not row.is_harm:
        return is_cold
    others = {other.group for other in ROWS.values() if other.machine == row.machine}
    return not is_cold or program.group not in others
