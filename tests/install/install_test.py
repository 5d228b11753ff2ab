# SPDX-License-Identifier: Apache-2.0
"""A project of somebody else builds against the installed library and reads a file with it.

Installs the release build into a folder of its own and moves that folder, as a package would be
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
    """Where the library was installed, and moved to."""
    folder = tmp_path_factory.mktemp("install")
    build, first = ROOT / "build" / "release", folder / "first"
    run("cmake", "--install", build, "--prefix", first, "--component", "product")
    return (folder / "first").rename(folder / "second")


@pytest.fixture(scope="module")
def downstream(prefix, tmp_path_factory):
    """The program that the example project builds."""
    build = tmp_path_factory.mktemp("downstream")
    run("cmake", "-S", HERE, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    return build / "downstream"


def test_the_example_project_reads_a_file(downstream, tmp_path):
    content = random.Random(7).randbytes(3_000_001)
    file = tmp_path / "file"
    file.write_bytes(content)
    assert run(downstream, file) == f"{len(content)} {sum(content)}\n"


def test_a_project_of_ranks_reads_a_file(prefix, tmp_path):
    """With the component mpi, and the MPI of the installed build, wherever the package lies."""
    bin_folder = ROOT / ".venv" / "bin"
    build = tmp_path / "build"
    run(
        *("cmake", "-S", HERE / "mpi", "-B", build, "-G", "Ninja"),
        f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DMPI_CXX_COMPILER={bin_folder / 'mpicxx'}",
        "-DMPI_CXX_SKIP_MPICXX=TRUE",
    )
    run("cmake", "--build", build)
    content = random.Random(8).randbytes(1_000_003)
    file = tmp_path / "file"
    file.write_bytes(content)
    printed = run(bin_folder / "mpiexec", "-n", "3", build / "downstream_mpi", file)
    assert printed == f"3 {len(content)} {sum(content)}\n"


def test_the_example_project_reports_a_missing_file(downstream, tmp_path):
    missing = tmp_path / "missing"
    done = subprocess.run(
        [downstream, missing], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 1
    assert str(missing) in done.stderr
    assert not missing.exists()


def test_all_public_headers_are_installed_and_nothing_private(prefix):
    def headers(folder):
        return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())

    assert headers(prefix / "include") == headers(ROOT / "include")


def test_no_file_of_the_package_names_the_source_tree(prefix):
    files = (prefix / "lib" / "cmake").rglob("*.cmake")
    assert [path for path in files if str(ROOT) in path.read_text()] == []


def test_installed_machines_are_found_beside_the_moved_library(prefix):
    program = prefix / "libexec" / "forebay" / "forebay-machine"
    shipped = sorted(path.name for path in (ROOT / "machines").glob("*.toml"))
    found = json.loads(run(program, "list"))["machines"]
    assert [Path(one["path"]) for one in found] == [
        prefix / "share" / "forebay" / "machines" / name for name in shipped
    ]


def test_installed_programs_find_the_moved_library(prefix):
    files = sorted((prefix / "libexec" / "forebay").iterdir())
    programs = [file for file in files if not file.read_bytes().startswith(b"#!")]
    assert programs
    for program in programs:
        assert "not found" not in run("ldd", program)
        library = [line for line in run("ldd", program).splitlines() if "libforebay" in line]
        assert library, f"{program.name} does not use the library"
        assert f"{prefix}/" in library[0].replace("/libexec/forebay/../../", "/")
