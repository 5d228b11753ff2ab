# SPDX-License-Identifier: Apache-2.0
"""An external project builds against the installed library and reads a file with it.

Installs the release build into a new directory and moves that directory, as a package would be
moved, before anything uses it.
"""

import json
import random
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LIMIT_S = 120


def run(*command, **options):
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """The directory of the installed library, after it was moved."""
    directory = tmp_path_factory.mktemp("install")
    build, first = ROOT / "build" / "release", directory / "first"
    run("cmake", "--install", build, "--prefix", first, "--component", "product")
    return (directory / "first").rename(directory / "second")


@pytest.fixture(scope="module")
def downstream(prefix, tmp_path_factory):
    """The program built by the example project."""
    build = tmp_path_factory.mktemp("downstream")
    run("cmake", "-S", HERE, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    return build / "downstream"


def test_example_project_reads_a_file(downstream, tmp_path):
    content = random.Random(7).randbytes(3_000_001)
    file = tmp_path / "file"
    file.write_bytes(content)
    assert run(downstream, file) == f"{len(content)} {sum(content)}\n"


def test_mpi_project_reads_a_file(prefix, tmp_path):
    """With the component mpi, and the MPI of the installed build, in any directory."""
    bin_directory = ROOT / ".venv" / "bin"
    build = tmp_path / "build"
    run(
        *("cmake", "-S", HERE / "mpi", "-B", build, "-G", "Ninja"),
        f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DMPI_CXX_COMPILER={bin_directory / 'mpicxx'}",
        "-DMPI_CXX_SKIP_MPICXX=TRUE",
    )
    run("cmake", "--build", build)
    content = random.Random(8).randbytes(1_000_003)
    file = tmp_path / "file"
    file.write_bytes(content)
    printed = run(bin_directory / "mpiexec", "-n", "3", build / "downstream_mpi", file)
    assert printed == f"3 {len(content)} {sum(content)}\n"


def test_example_project_reports_a_missing_file(downstream, tmp_path):
    missing = tmp_path / "missing"
    done = subprocess.run(
        [downstream, missing], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 1
    assert str(missing) in done.stderr
    assert not missing.exists()


def test_public_headers_and_no_others_are_installed(prefix):
    def headers(directory):
        return sorted(
            path.relative_to(directory) for path in directory.rglob("*") if path.is_file()
        )

    assert headers(prefix / "include") == headers(ROOT / "include")


def test_package_files_do_not_contain_the_source_path(prefix):
    files = (prefix / "lib" / "cmake").rglob("*.cmake")
    assert [path for path in files if str(ROOT) in path.read_text()] == []


def test_machines_are_found_relative_to_the_moved_library(prefix):
    program = prefix / "libexec" / "forebay" / "forebay-machine"
    shipped = sorted(path.name for path in (ROOT / "machines").glob("*.toml"))
    found = json.loads(run(program, "list"))["machines"]
    assert [Path(one["path"]) for one in found] == [
        prefix / "share" / "forebay" / "machines" / name for name in shipped
    ]


def test_programs_find_the_moved_library(prefix):
    files = sorted((prefix / "libexec" / "forebay").iterdir())
    programs = [file for file in files if not file.read_bytes().startswith(b"#!")]
    assert programs
    for program in programs:
        assert "not found" not in run("ldd", program)
        library = [line for line in run("ldd", program).splitlines() if "libforebay" in line]
        assert library, f"{program.name} does not use the library"
        assert f"{prefix}/" in library[0].replace("/libexec/forebay/../../", "/")
