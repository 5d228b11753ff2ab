#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run a program under `forebay run`, and check that it runs as without it.

Usage: recorded.py DIRECTORY [OPTION]... -- PROGRAM...

DIRECTORY has the agent and the library. Succeeds if the program succeeds and its reads were
recorded. With --kill-agent the agent is killed again and again, at other moments each time.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

from forebay import run_job  # noqa: E402

KILLS_MAX = 30
EXIT_SKIPPED = 77
COVER = 'mount -t tmpfs -o ro none "$0" && exec "$@"'


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory", type=Path)
    parser.add_argument("--kill-agent", action="store_true")
    parser.add_argument("--reads-min", type=int, default=1)
    parser.add_argument("--compare", action="store_true", help="output with that of a plain run")
    parser.add_argument("--preload", default="", help="a library, behind that of forebay run")
    parser.add_argument("--cover", help="a directory that is empty and read-only meanwhile")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def run(command: list[str]) -> tuple[int, dict | None]:
    """The exit code of the program, and the agent's report."""
    with run_job.find_agent(run_job.RunOptions()) as agent:
        code = run_job.run_program(command, run_job.environment(agent))
        return code, agent.end()


def run_with_kills(command: list[str]) -> int:
    """The first exit code that is not 0, of runs during which the agent is killed."""
    for kill_after_ms in range(0, KILLS_MAX * 6, 6):
        with run_job.find_agent(run_job.RunOptions()) as agent:
            number = agent.memory_path.split("/")[2]
            kill = f"sleep {kill_after_ms / 1000}; kill -KILL {number}"
            killer = subprocess.Popen(["sh", "-c", kill])
            code = run_job.run_program(command, run_job.environment(agent))
            killer.wait()
        if code != 0:
            return code
    return 0


def run_and_compare(command: list[str]) -> tuple[int, dict | None]:
    """As run(), but the code is 1 if another result comes without `forebay run`."""
    with tempfile.TemporaryDirectory() as folder:
        plain, recorded = Path(folder, "plain"), Path(folder, "recorded")
        writes = ["sh", "-c", 'exec "$@" >"$0" 2>&1']
        plain_code = run_job.run_program([*writes, str(plain), *command], dict(os.environ))
        code, report = run([*writes, str(recorded), *command])
        print(text := plain.read_text(errors="replace"))
        if (plain_code, text) == (code, recorded.read_text(errors="replace")):
            return code, report
        print(f"exit code {plain_code}; under forebay run {code} and this output:")
        print(recorded.read_text(errors="replace"))
        return code or 1, report


def run_covered(directory: str) -> None:
    """Runs this script again, without the option, where the directory is empty and read-only."""
    namespace = ["unshare", "--user", "--map-root-user", "--mount"]
    if not shutil.which("unshare") or subprocess.run([*namespace, "true"], check=False).returncode:
        print("skipped: namespaces cannot be created here")
        sys.exit(EXIT_SKIPPED)
    end = sys.argv.index("--cover")
    words = [*sys.argv[:end], *sys.argv[end + 2 :]]
    os.execvp("unshare", [*namespace, "sh", "-c", COVER, directory, sys.executable, *words])


def main() -> int:
    arguments = parse()
    if arguments.cover:
        run_covered(arguments.cover)
    if not shutil.which(arguments.command[0]):
        print(f"skipped: {Path(arguments.command[0]).name} cannot be built here")
        return EXIT_SKIPPED
    os.environ["FOREBAY_LIBEXEC"] = str(arguments.directory)
    if arguments.preload:
        os.environ["LD_PRELOAD"] = arguments.preload
    if arguments.kill_agent:
        return run_with_kills(arguments.command)
    begin = time.monotonic()
    code, report = (run_and_compare if arguments.compare else run)(arguments.command)
    reads = sum(one["reads"] for one in report["files"]) if report else 0
    print(f"{reads} reads were recorded in {time.monotonic() - begin:.2f} s", flush=True)
    if code == 0 and reads < arguments.reads_min:
        print(f"at least {arguments.reads_min} were expected: {report}")
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
