# SPDX-License-Identifier: Apache-2.0
"""Runs a program in the Python of this command, in a process of its own, to measure it alone."""

import os
import subprocess
import sys

from forebay.errors import ForebayError

TIMEOUT_S = 600


def run_python(text: str, *arguments: object, environment: dict[str, str] | None = None) -> str:
    """The output of a program in the Python of this command, which can import all that it can."""
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", text, *map(str, arguments)],
        env=os.environ | paths | (environment or {}),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        raise ForebayError(f"python ended with code {done.returncode}: {done.stderr[-300:]}")
    return done.stdout
