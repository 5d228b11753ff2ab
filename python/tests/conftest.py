# SPDX-License-Identifier: Apache-2.0
"""Fake native programs, small scripts that print what a test needs, and fake native tools.

They test the command line without a build, and with behavior that real ones have only after a
failure.
"""

import copy
import importlib.util
import json
import os
import stat
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest

from forebay import native
from forebay.cli import main
from forebay.errors import ForebayError

PYTHON_FOLDER = Path(__file__).resolve().parent.parent


@dataclass
class CommandResult:
    """Exit code and outputs of a command line."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture(scope="session", autouse=True)
def no_settings(tmp_path_factory):
    """An empty settings directory, so that measurements of this machine affect no test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("settings")))
        patch.delenv("FOREBAY_PROFILE", raising=False)
        yield


@pytest.fixture
def forebay(capsys):
    """Runs the command line in this process."""

    def run(*args) -> CommandResult:
        code = main([str(word) for word in args])
        return CommandResult(code, *capsys.readouterr())

    return run


@pytest.fixture
def libexec(tmp_path, monkeypatch):
    """An empty directory in which native programs and tools are searched."""
    folder = tmp_path / "libexec"
    folder.mkdir()
    monkeypatch.delitem(sys.modules, native.TOOLS, raising=False)
    monkeypatch.setenv("FOREBAY_LIBEXEC", str(folder))
    return folder


@pytest.fixture
def fake(libexec):
    """fake(name, code) creates a native program of Python code, which may use json, os, signal,
    sys and time."""

    def make(name: str, code: str) -> Path:
        path = libexec / name
        head = f"#!{sys.executable} -S\nimport json, os, signal, sys, time\n"
        path.write_text(head + code, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    return make


@pytest.fixture
def fake_program(fake):
    """fake_program(name, document, exit_code, progress, error): a native program that prints
    these."""

    def make(name, document=None, exit_code=0, progress=(), error=None):
        messages = [*progress, *([{"error": error}] if error else [])]
        lines = [f"print({json.dumps(json.dumps(one))}, file=sys.stderr)" for one in messages]
        if document is not None:
            lines.append(f"print({json.dumps(json.dumps(document))})")
        return fake(name, "\n".join([*lines, f"sys.exit({exit_code})"]))

    return make


@pytest.fixture
def fake_tools(monkeypatch):
    """fake_tools(name=document_or_function, ...) replaces the native tools by these functions, or
    by functions that return these documents."""

    def function_of(given):
        return given if callable(given) else lambda *_args, **_options: copy.deepcopy(given)

    def replace(**tools) -> None:
        functions = {name: function_of(given) for name, given in tools.items()}
        monkeypatch.setitem(sys.modules, native.TOOLS, SimpleNamespace(**functions))

    return replace


@pytest.fixture(scope="session")
def real_tools():
    """The native tools; skips the test if they are not built."""
    try:
        return native.tools()
    except ForebayError as error:
        pytest.skip(str(error))


@pytest.fixture
def packaged_logs() -> Path:
    """The logs of the package darshan."""
    spec = importlib.util.find_spec("darshan")
    if spec is None:
        pytest.skip("the package darshan is not installed: run scripts/setup test")
    return Path(spec.origin).parent / "examples/example_logs"


@pytest.fixture(scope="session")
def real_native():
    """real_native(name) returns the name of a built program; skips the test if it is not built."""

    def find_program(name: str) -> str:
        path = Path(sys.prefix) / "libexec" / "forebay" / name
        if "FOREBAY_LIBEXEC" in os.environ:
            path = Path(os.environ["FOREBAY_LIBEXEC"]) / name
        if not path.exists():
            pytest.skip(f"{name} is not built: {native.install_hint(name)}")
        return name

    return find_program


@pytest.fixture
def samples(real_tools, tmp_path):
    """A new directory of datasets, which a test may damage: see tools/dataset/samples.cpp."""
    program = dataset_samples()
    if program is None:
        pytest.skip("dataset_samples is not built: run make build")
    folder = tmp_path / "samples"
    folder.mkdir()
    subprocess.run([program, folder], check=True, timeout=60)
    return folder


def dataset_samples() -> Path | None:
    """The program dataset_samples of the build that the native programs are from."""
    builds = [PYTHON_FOLDER.parent / "build/release"]
    if "FOREBAY_LIBEXEC" in os.environ:
        builds.insert(0, Path(os.environ["FOREBAY_LIBEXEC"]).parent.parent)
    programs = [build / "tests/dataset_samples" for build in builds]
    return next((program for program in programs if program.exists()), None)


@dataclass(frozen=True)
class Damage:
    """Damage to files."""

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
    """The environment of a command line in a separate process."""
    return os.environ | {"PYTHONPATH": str(PYTHON_FOLDER)}
