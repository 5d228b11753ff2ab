#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run a test program under `forebay run`, and check that its reads were recorded.

Usage: recorded.py DIRECTORY [--kill-agent] [--reads-min N] -- PROGRAM...

DIRECTORY has the agent and the library. Succeeds if the program succeeds. With --kill-agent the
agent is killed again and again, at other moments each time.
"""

import argparse
import contextlib
import os
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

from forebay import run_job  # noqa: E402

KILLS_MAX = 50


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--kill-agent", action="store_true")
    parser.add_argument("--reads-min", type=int, default=1)
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


def run(command: list[str]) -> tuple[int, dict | None]:
    """The exit code of the program, and the agent's report."""
    with run_job.connected_agent(run_job.RunOptions()) as agent:
        code = run_job.run_program(command, run_job.environment(agent.memory_path))
        return code, agent.end()


def run_with_kills(command: list[str]) -> int:
    """The first exit code that is not 0, of runs during which the agent is killed."""
    for kill_after_ms in range(0, KILLS_MAX * 4, 4):
        with run_job.connected_agent(run_job.RunOptions()) as agent:
            process = int(agent.memory_path.split("/")[2])
            timer = threading.Timer(kill_after_ms / 1000, os.kill, (process, signal.SIGKILL))
            timer.start()
            code = run_job.run_program(command, run_job.environment(agent.memory_path))
            timer.join()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(process, 0)
        if code != 0:
            return code
    return 0


def main() -> int:
    arguments = parse()
    os.environ["FOREBAY_LIBEXEC"] = arguments.directory
    if arguments.kill_agent:
        return run_with_kills(arguments.command)
    begin = time.monotonic()
    code, report = run(arguments.command)
    reads = sum(one["reads"] for one in report["files"]) if report else 0
    print(f"{reads} reads were recorded in {time.monotonic() - begin:.2f} s", flush=True)
    if code == 0 and reads < arguments.reads_min:
        print(f"at least {arguments.reads_min} were expected: {report}")
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
