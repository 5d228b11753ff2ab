# SPDX-License-Identifier: Apache-2.0
"""The installed tree that all tests here use.

The release build is installed into a new directory. That directory is moved, as a package would be
moved, before anything uses it.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
LIMIT_S = 120
WITHOUT_TOOLS = (
    "-DFOREBAY_TOOLS=OFF",
    "-DFOREBAY_BENCH=OFF",
    "-DFOREBAY_TESTS=OFF",
    "-DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON",
    "-DCMAKE_DISABLE_FIND_PACKAGE_ZLIB=ON",
)
UNITY = ("-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=16")


@dataclass(frozen=True)
class Finished:
    """Exit code and outputs of a program."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def start():
    """start(*command, limit_s, **options) runs a program to its end. Returns what it finished with.

    The variables `environment` are added to those of this process. The Python of the virtual
    environment, which has all packages, is first in PATH.
    """

    def start_program(*command, environment=None, limit_s=LIMIT_S, **options):
        path = f"{ROOT / '.venv' / 'bin'}:{os.environ.get('PATH', os.defpath)}"
        inherited = {k: v for k, v in os.environ.items() if k != "FOREBAY_LIBEXEC"}
        done = subprocess.run(
            [str(word) for word in command],
            env=inherited | {"PATH": path} | (environment or {}),
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
            **options,
        )
        return Finished(done.returncode, done.stdout, done.stderr)

    return start_program


@pytest.fixture(scope="session")
def run(start):
    """As start(), but returns the standard output of a program that must succeed."""

    def run_program(*command, **options):
        done = start(*command, **options)
        assert done.code == 0, done.out + done.err
        return done.out

    return run_program


@pytest.fixture(scope="session")
def prefix(run, tmp_path_factory):
    """The directory of everything that is installed, after it was moved."""
    directory = tmp_path_factory.mktemp("install")
    run("cmake", "--install", ROOT / "build" / "release", "--prefix", directory / "first")
    return (directory / "first").rename(directory / "second")


@pytest.fixture(scope="session")
def library_build(run):
    """The configured build of the library alone, without the packages that only tools need.

    In one place, so that a second run compiles only what has changed.
    """
    build = ROOT / "build" / "library"
    run("cmake", "--fresh", "-S", ROOT, "-B", build, "-G", "Ninja", *WITHOUT_TOOLS, *UNITY)
    return build
