# SPDX-License-Identifier: Apache-2.0
"""Programs in Fortran build against the installed modules, by pkg-config and by CMake."""

import shutil
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCES = HERE / "fortran"
BIN = ROOT / ".venv" / "bin"
# Values that are read back are compared for equality.
WARNINGS = ("-std=f2018", "-Wall", "-Wextra", "-Werror", "-Wno-compare-reals")

pytestmark = pytest.mark.skipif(
    shutil.which("gfortran") is None,
    reason="no Fortran compiler: gfortran is not installed; scripts/setup test does it",
)


@pytest.fixture(scope="module")
def build(run, prefix, tmp_path_factory):
    """build(sources, *packages): a program in Fortran and the environment for it."""
    environment = {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}

    def compile_program(sources, *packages):
        program = tmp_path_factory.mktemp("fortran") / "program"
        names = ("forebay-fortran", *packages)
        flags = run("pkg-config", "--cflags", "--libs", *names, environment=environment).split()
        output = ("-J", program.parent, "-o", program)
        run("gfortran", *WARNINGS, "-fcheck=all", *sources, *output, *flags)
        return program

    return compile_program


@pytest.fixture(scope="module")
def libraries(prefix):
    return {"LD_LIBRARY_PATH": f"{prefix / 'lib'}:{ROOT / '.venv' / 'lib'}"}


def test_arrays_of_each_type_are_read_back(run, build, libraries, tmp_path):
    program = build([SOURCES / "arrays.f90"])
    assert run(program, tmp_path / "run.fb", environment=libraries) == ""


WRITE_UNSIGNED = """
import sys
import numpy as np
import forebay

with forebay.Runtime() as runtime, runtime.create_dataset(sys.argv[1]) as dataset:
    step = dataset.step(1)
    step.put("u", np.array([1, 40000, 65535], dtype=np.uint16), part=0)
    step.set_attributes({"top": np.uint16(65535)})
    step.commit().result()
"""


def test_integers_read_the_bits_of_unsigned_fields(run, build, libraries, tmp_path):
    run(BIN / "python", "-c", WRITE_UNSIGNED, tmp_path / "u.fb")
    program = build([SOURCES / "unsigned.f90"])
    assert run(program, tmp_path / "u.fb", environment=libraries) == "1 -25536 -1 -1\n"


def test_failure_without_stat_ends_the_program_with_its_message(start, build, libraries, tmp_path):
    program = build([SOURCES / "failing.f90"])
    done = start(program, environment=libraries, cwd=tmp_path)
    assert done.code == 1
    assert "missing: No such file or directory" in done.err
    copied = start(program, "copy", environment=libraries, cwd=tmp_path)
    assert copied.code != 0
    assert "a handle was copied" in copied.err


@pytest.mark.parametrize("ranks", [1, 3])
def test_ranks_write_and_read_an_array(run, build, libraries, tmp_path, ranks):
    world = tmp_path / "world.o"
    run(BIN / "mpicc", "-std=c11", "-c", SOURCES / "world.c", "-o", world)
    mpi = BIN.parent / "lib" / "libmpi.so.12"
    program = build([SOURCES / "ranks.f90", world, mpi], "forebay-mpi")
    command = (BIN / "mpiexec", "-n", ranks, program, tmp_path / "columns.fb")
    assert run(*command, environment=libraries) == f"{ranks}\n"


def test_cmake_project_in_fortran(run, prefix, libraries, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\n"
        "project(downstream LANGUAGES C Fortran)\n"
        "find_package(forebay 1 REQUIRED)\n"
        f"add_executable(arrays {SOURCES / 'arrays.f90'})\n"
        "target_link_libraries(arrays PRIVATE forebay::fortran)\n"
    )
    build = tmp_path / "build"
    run("cmake", "-S", tmp_path, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    assert run(build / "arrays", tmp_path / "run.fb", environment=libraries) == ""


def test_installed_sources_compile_without_the_module_files(run, prefix, tmp_path):
    sources = prefix / "share" / "forebay" / "fortran"
    names = ("c_interface", "handles", "sessions", "datasets", "forebay", "forebay_mpi")
    files = [sources / f"{name}.f90" for name in names]
    run("gfortran", "-std=f2018", "-fsyntax-only", "-J", tmp_path, *files, cwd=tmp_path)
    run("cc", "-std=c11", "-fsyntax-only", f"-I{prefix / 'include'}", sources / "describe.c")
