#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run CPython's own tests of files and processes, without and with `forebay run`, and compare.

Usage: cpython_tests.py DIRECTORY [MODULE...]

DIRECTORY has the agent and the library. Succeeds if each test ends alike: passed, failed or
skipped. A test that does not is run again both ways, as some depend on time. Exits with 77 if no
interpreter on PATH has CPython's tests.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "python"))

from forebay import run_job  # noqa: E402

MODULES = ["test_io", "test_fileio", "test_os", "test_mmap", "test_subprocess"]
ATTEMPTS = 3
LIMIT_S = 600
EXIT_SKIPPED = 77


def interpreter_with_tests() -> str | None:
    """The first interpreter on PATH that has the package of CPython's tests."""
    check = "import sys, test.test_io, test.libregrtest; print(sys.executable)"
    for folder in os.get_exec_path():
        python = Path(folder) / "python3"
        if python.is_file():
            words = [str(python), "-c", check]
            done = subprocess.run(words, capture_output=True, text=True, check=False, cwd="/")
            if done.returncode == 0:
                return done.stdout.strip()
    return None


def outcomes(junit: Path) -> dict[str, str]:
    """Each test and how it ended."""
    ends = {}
    for case in ElementTree.parse(junit).iter("testcase"):
        kinds = [one.tag for one in case if one.tag in ("skipped", "failure", "error")]
        ends[case.get("name")] = kinds[0] if kinds else "passed"
    return ends


def run(python: str, selection: list[str], is_recorded: bool) -> dict[str, str]:
    """Runs tests in a directory of their own."""
    with tempfile.TemporaryDirectory() as folder:
        junit, log = Path(folder, "results.xml"), Path(folder, "log")
        words = ["timeout", "-k", "10", str(LIMIT_S), python, "-m", "test", "-j3"]
        words += ["--junit-xml", str(junit), *selection]
        words = ["sh", "-c", 'cd "$0" && exec "$@" >log 2>&1', folder, *words]
        if is_recorded:
            with run_job.find_agent(run_job.RunOptions()) as agent:
                run_job.run_program(words, run_job.environment(agent))
                report = agent.end()
            print(f"{sum(one['reads'] for one in report['files'])} reads were recorded")
        else:
            run_job.run_program(words, run_job.environment(None))
        if junit.exists():
            return outcomes(junit)
        print(log.read_text(errors="replace")[-5000:])
        return {}


def differences(python: str, selection: list[str]) -> list[str]:
    """Tests that ended in another way under `forebay run`."""
    plain, recorded = (run(python, selection, is_recorded) for is_recorded in (False, True))
    print(f"plain: {dict(Counter(plain.values()))}; recorded: {dict(Counter(recorded.values()))}")
    names = sorted(plain.keys() | recorded.keys())
    found = [name for name in names if plain.get(name) != recorded.get(name)]
    for name in found:
        print(f"{name}: {plain.get(name)}; under forebay run {recorded.get(name)}", flush=True)
    return found if plain else ["no test ran"]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("modules", nargs="*", default=MODULES)
    arguments = parser.parse_args()
    os.environ["FOREBAY_LIBEXEC"] = arguments.directory
    python = interpreter_with_tests()
    if python is None:
        print("skipped: no interpreter on PATH has CPython's tests")
        return EXIT_SKIPPED
    print(f"{python}: {' '.join(arguments.modules)}", flush=True)
    found = differences(python, arguments.modules)
    for _ in range(ATTEMPTS - 1):
        if not found:
            break
        names = [word for name in found for word in ("--match", name)]
        found = differences(python, [*names, *arguments.modules])
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
