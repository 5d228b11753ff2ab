# SPDX-License-Identifier: Apache-2.0
"""Stands for the native programs: small scripts that print what a test wants them to print.

With them the command line is tested without a build, and in ways that real programs behave only
when something is broken.
"""

import json
import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from forebay import native
from forebay.cli import main

PYTHON_FOLDER = Path(__file__).resolve().parent.parent


@dataclass
class Ran:
    """How a command line ended."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture(scope="session", autouse=True)
def no_settings(tmp_path_factory):
    """No settings: what was measured on this machine changes no test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("settings")))
        patch.delenv("FOREBAY_PROFILE", raising=False)
        yield


@pytest.fixture
def forebay(capsys):
    """Runs the command line in this process."""

    def run(*words) -> Ran:
        code = main([str(word) for word in words])
        return Ran(code, *capsys.readouterr())

    return run


@pytest.fixture
def libexec(tmp_path, monkeypatch):
    """An empty folder where natives are looked for."""
    folder = tmp_path / "libexec"
    folder.mkdir()
    monkeypatch.setenv("FOREBAY_LIBEXEC", str(folder))
    return folder


@pytest.fixture
def fake(libexec):
    """fake(name, code) makes a native program of Python code; sys, json, os and time are there."""

    def make(name: str, code: str) -> Path:
        path = libexec / name
        head = f"#!{sys.executable} -S\nimport json, os, signal, sys, time\n"
        path.write_text(head + code, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make


@pytest.fixture
def answers(fake):
    """answers(name, document, exit_code, progress, error): a native that prints these."""

    def make(name, document=None, exit_code=0, progress=(), error=None):
        said = [*progress, *([{"error": error}] if error else [])]
        lines = [f"print({json.dumps(json.dumps(one))}, file=sys.stderr)" for one in said]
        if document is not None:
            lines.append(f"print({json.dumps(json.dumps(document))})")
        return fake(name, "\n".join([*lines, f"sys.exit({exit_code})"]))

    return make


@pytest.fixture(scope="session")
def real_native():
    """real_native(name) is the built program's name; the test is skipped where it is not built."""

    def find(name: str) -> str:
        path = Path(sys.prefix) / "libexec" / "forebay" / name
        if "FOREBAY_LIBEXEC" in os.environ:
            path = Path(os.environ["FOREBAY_LIBEXEC"]) / name
        if not path.exists():
            pytest.skip(f"{name} is not built: run make {native.target_of(name)}")
        return name

    return find


@pytest.fixture
def samples(real_native, tmp_path):
    """A folder of datasets of its own, which may be damaged: see tools/dataset/samples.cpp."""
    real_native("forebay-dataset")
    program = dataset_samples()
    if program is None:
        pytest.skip("dataset_samples is not built: run make build")
    folder = tmp_path / "samples"
    folder.mkdir()
    subprocess.run([program, folder], check=True, timeout=60)
    return folder


def dataset_samples() -> Path | None:
    """The program of the tests' build that fits the native programs."""
    builds = [PYTHON_FOLDER.parent / "build/release"]
    if "FOREBAY_LIBEXEC" in os.environ:
        builds.insert(0, Path(os.environ["FOREBAY_LIBEXEC"]).parent.parent)
    programs = [build / "tests/dataset_samples" for build in builds]
    return next((program for program in programs if program.exists()), None)


@dataclass(frozen=True)
class Damage:
    """What devices and people do to files."""

    def write(self, path: Path, at: int, new: bytes) -> None:
        with path.open("r+b") as file:
            file.seek(at)
            file.write(new)

    def flip(self, path: Path, at: int) -> None:
        self.write(path, at, bytes([path.read_bytes()[at] ^ 16]))


@pytest.fixture
def damage():
    return Damage()


@pytest.fixture
def environment():
    """For a command line in a process of its own."""
    return os.environ | {"PYTHONPATH": str(PYTHON_FOLDER)}
