#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""16,384 chares of charm4py on two processes read through <forebay/charm.hpp>.

Usage: charm4py_test.py BRIDGE

Exit code 77 is a skip: charm4py is not installed.
"""

import array
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYTHON = HERE.parents[1] / ".venv/bin/python"
CHARES = 16_384
SLICE_WORDS = 8
TIMEOUT_SECONDS = 150


def has_charm4py() -> bool:
    code = "import importlib.util as u, sys; sys.exit(u.find_spec('charm4py') is None)"
    return PYTHON.exists() and subprocess.run([PYTHON, "-c", code], check=False).returncode == 0


def output_of(command: list) -> str:
    """The output of a job, whose processes are ended with it."""
    with tempfile.TemporaryFile() as output:
        job = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = job.wait(TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            code = "none: it was ended after the time limit"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(job.pid, signal.SIGKILL)
        output.seek(0)
        return f"{output.read().decode(errors='replace')}\nexit code {code}\n"


def main(bridge: str) -> int:
    if not has_charm4py():
        print("skipped: charm4py is not installed: run scripts/setup test")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        words = Path(folder, "words")
        words.write_bytes(array.array("Q", range(CHARES * SLICE_WORDS)).tobytes())
        chares = HERE / "charm4py_chares.py"
        output = output_of(
            [PYTHON, "-m", "charmrun.start", "+p2", chares, bridge, words, str(CHARES)]
        )
        expected = [
            f"missing file: open {words}.missing: No such file or directory",
            "session: started",
            f"{CHARES} of {CHARES} chares have their bytes on another PE",
            "bridge_close_session: closed",
            "bridge_close_file: closed",
            "exit code 0",
        ]
    missing = [line for line in expected if line not in output]
    print(output, *(f"missing: {line}" for line in missing), sep="\n")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
