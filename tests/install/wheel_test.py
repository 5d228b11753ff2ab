# SPDX-License-Identifier: Apache-2.0
"""The wheel of `make wheel` in a new environment: no compiler, no source tree, no library path."""

import os
import re
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / ".venv" / "bin" / "python3"
BUILD_LIMIT_S = 1800
PROGRAM = """
import asyncio, sys
import numpy as np
import forebay

np.arange(1 << 20, dtype="f8").tofile("data.bin")
with forebay.Runtime() as runtime:
    with runtime.open_session("data.bin") as session:
        assert np.asarray(session[8:16]).view("f8")[0] == 1
        assert len(asyncio.run(asyncio.wait_for(read(session), 60))) == 4096
    with runtime.create_dataset("run.fb") as dataset, dataset.step(1) as step:
        step.put("u", np.ones((3, 4)), part=0)
    with runtime.open_dataset("run.fb") as dataset:
        assert dataset[1]["u"].read(part=0).result().sum() == 12
try:
    forebay.Runtime(object())
except forebay.UnsupportedError as error:
    assert "no MPI" in str(error)
print(forebay.__file__)
"""
READ = "async def read(session):\n    return await session.read(0, 4096)\n"

pytestmark = pytest.mark.skipif(
    os.environ.get("FOREBAY_TEST_ALL") != "1", reason="only make test-all builds a wheel"
)


@pytest.fixture(scope="module")
def wheel(run):
    run(ROOT / "scripts" / "wheel", limit_s=BUILD_LIMIT_S)
    (built,) = (ROOT / "build" / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def python(run, wheel, tmp_path_factory):
    """The Python of a virtual environment with the wheel, NumPy and what the command needs."""
    folder = tmp_path_factory.mktemp("wheel")
    run("/usr/bin/python3", "-m", "venv", folder)
    install = (folder / "bin" / "pip", "install", "--quiet", "--no-deps")
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    needed = [
        line
        for line in lines
        if re.match(r"(click|markdown-it-py|mdurl|numpy|Pygments|rich)==", line)
    ]
    run(*install, wheel, *needed, limit_s=600)
    return folder / "bin" / "python3"


@pytest.fixture
def alone(python):
    """An environment without the compiler and the programs of this machine."""
    return {"PATH": str(python.parent), "LD_LIBRARY_PATH": "", "PYTHONPATH": ""}


def test_wheel_reads_and_writes(run, python, alone, tmp_path):
    code = READ + PROGRAM
    printed = run("env", "-i", *(f"{k}={v}" for k, v in alone.items()), python, "-c", code,
                  cwd=tmp_path)  # fmt: skip
    assert printed.startswith(str(python.parent.parent))


def test_command_runs_a_program_of_the_wheel(run, python, alone, tmp_path):
    words = (*(f"{k}={v}" for k, v in alone.items()), f"HOME={tmp_path}")
    printed = run("env", "-i", *words, python.parent / "forebay", "machine", "list", cwd=tmp_path)
    assert "lustre-small" in printed


def test_wheel_has_one_copy_of_each_library(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    libraries = [name for name in names if re.search(r"/libforebay\.so", name)]
    assert libraries == ["forebay/prefix/lib/libforebay.so.1"]
    assert "_forebay-stubs/__init__.pyi" in names
    assert "forebay/py.typed" in names
    assert [name for name in names if "libpython" in name or "libmpi" in name] == []
