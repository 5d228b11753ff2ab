# SPDX-License-Identifier: Apache-2.0
"""The Debian packages: content, dependencies, and what is built and run from them.

They are extracted below a directory, so nothing is installed on this machine.
"""

import os
import random
import re
import shutil
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "debian"
PYTHON = ROOT / ".venv" / "bin" / "python3"
COMPILER = shutil.which("mpicxx.openmpi")
LAUNCHER = ("mpiexec.openmpi", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none")
MPI_DEVELOPMENT = "libforebay-openmpi-dev"
NAMES = {
    "forebay",
    "forebay-common",
    "forebay-doc",
    "forebay-hdf5",
    "forebay-openmpi",
    "libforebay-dev",
    "libforebay-openmpi1",
    "libforebay1",
    MPI_DEVELOPMENT,
}

pytestmark = [
    pytest.mark.skipif(
        os.environ.get("FOREBAY_TEST_ALL") != "1", reason="only make test-all builds packages"
    ),
    pytest.mark.skipif(
        COMPILER is None,
        reason="no second MPI: mpicxx.openmpi is not installed; scripts/setup all does it",
    ),
]


@pytest.fixture(scope="module")
def packages(run):
    """The files of the packages by name, made by the commands of the guide."""
    for old in BUILD.glob("*.deb"):
        old.unlink()
    run("cmake", "--preset", "debian", cwd=ROOT)
    run("cmake", "--build", "--preset", "debian", cwd=ROOT, limit_s=3000)
    run("cpack", "--preset", "debian", cwd=ROOT, limit_s=1200)
    return {path.name.partition("_")[0]: path for path in BUILD.glob("*.deb")}


@pytest.fixture(scope="module")
def usr(run, packages, tmp_path_factory):
    """The directory usr of a root that has only these packages."""
    root = tmp_path_factory.mktemp("root")
    for path in packages.values():
        run("dpkg-deb", "--extract", path, root)
    return root / "usr"


@pytest.fixture(scope="module")
def libraries(usr):
    """The directory of libraries, whose name has that of the architecture."""
    return next(usr.glob("lib/*/libforebay.so")).parent


@pytest.fixture
def sample(tmp_path):
    """A file, and the line that the programs print for it."""
    content = random.Random(7).randbytes(1_000_003)
    (tmp_path / "file").write_bytes(content)
    return tmp_path / "file", f"{len(content)} {sum(content)}\n"


def field(run, package, name):
    return run("dpkg-deb", "--field", package, name).strip()


def file_names(run, package):
    """The files of a package, without directories."""
    lines = run("dpkg-deb", "--contents", package).splitlines()
    return [line.split(maxsplit=5)[5].split(" -> ")[0] for line in lines if line[0] != "d"]


def configure(start, source, build, usr, *settings):
    command = ("cmake", "-S", source, "-B", build, "-G", "Ninja")
    return start(*command, f"-DCMAKE_PREFIX_PATH={usr}", *settings)


def test_packages_are_those_of_the_guide(packages):
    assert set(packages) == NAMES
    guide = (ROOT / "docs" / "guides" / "install.md").read_text()
    assert [name for name in NAMES if f"`{name}`" not in guide] == []


def test_each_file_is_in_one_package(run, packages):
    tree = BUILD / "packages" / "tree"
    expected = {f"./usr/{path.relative_to(tree)}" for path in tree.rglob("*") if not path.is_dir()}
    found = [name for path in packages.values() for name in file_names(run, path)]
    own = re.compile(r"\./usr/share/doc/[^/]+/(changelog(\.Debian)?\.gz|copyright)")
    installed = [name for name in found if not own.fullmatch(name)]
    assert len(installed) == len(set(installed))
    assert set(installed) == expected


def test_library_depends_on_no_mpi(run, packages):
    needed = field(run, packages["libforebay1"], "Depends")
    assert "liburing2" in needed
    assert "mpi" not in needed


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("forebay", "libforebay1 (= 1.0.0-1)"),
        ("forebay", "python3-click"),
        ("forebay-hdf5", "libforebay1 (= 1.0.0-1)"),
        ("libforebay1", "forebay-common (= 1.0.0-1)"),
        ("libforebay-dev", "libexpected-dev"),
        ("libforebay-openmpi1", "libopenmpi3"),
        (MPI_DEVELOPMENT, "libopenmpi-dev"),
    ],
)
def test_package_depends_on(run, packages, name, needed):
    assert needed in field(run, packages[name], "Depends")


def test_archive_of_debian_has_all_dependencies(start, packages):
    if start("apt-cache", "show", "python3-rich").code != 0:
        pytest.skip("apt has no lists of packages: run apt-get update")
    settings = ("-o", "Debug::NoLocking=1")
    done = start("apt-get", "--simulate", *settings, "install", *packages.values())
    assert done.code == 0, done.out + done.err


def test_lintian_reports_no_errors(start, packages):
    if shutil.which("lintian") is None:
        pytest.skip("no lintian: run apt-get install lintian")
    options = ("--no-cfg", "--allow-root", "--fail-on", "error")
    # `forebay run` looks for this library as for a program.
    ignored = ("--suppress-tags", "shared-library-is-executable")
    done = start("lintian", *options, *ignored, *packages.values(), limit_s=600)
    assert done.code == 0, done.out + done.err


def test_command_runs_from_packages(run, usr, libraries, tmp_path):
    command = usr / "bin" / "forebay"
    assert command.read_text().startswith("#!/usr/bin/python3\n")
    environment = {"LD_LIBRARY_PATH": str(libraries)}
    assert run(PYTHON, command, "--version") == "forebay, version 1.0.0\n"
    snapshot = tmp_path / "snapshot"
    tipsy = (PYTHON, command, "tipsy")
    run(*tipsy, "generate", snapshot, "--gas", "3", environment=environment)
    assert '"gas": 3' in run(*tipsy, "info", snapshot, "--json", "-", environment=environment)


def test_cmake_project_builds_from_packages(run, usr, tmp_path, sample):
    configure(run, HERE, tmp_path / "build", usr)
    run("cmake", "--build", tmp_path / "build")
    file, line = sample
    assert run(tmp_path / "build" / "downstream", file) == line


def test_cmake_project_of_ranks_builds_from_packages(run, usr, tmp_path, sample):
    setting = f"-DMPI_CXX_COMPILER={COMPILER}"
    configure(run, HERE / "mpi", tmp_path / "build", usr, setting)
    run("cmake", "--build", tmp_path / "build")
    file, line = sample
    program = tmp_path / "build" / "downstream_mpi"
    command = ("timeout", "-k", "10", "60", *LAUNCHER, "-n", "3", program, file)
    assert run(*command) == f"3 {line}"


def test_pkg_config_compiles_program_from_packages(run, usr, libraries, tmp_path, sample):
    # The files of packages name their prefix, which PKG_CONFIG_SYSROOT_DIR would add again.
    environment = {"PKG_CONFIG_PATH": str(libraries / "pkgconfig")}
    options = ("--cflags", "--libs", "forebay-mpi")
    flags = run("pkg-config", *options, environment=environment).split()
    program, source = tmp_path / "program", HERE / "mpi" / "downstream_mpi.cpp"
    run(COMPILER, "-std=c++20", source, "-o", program, *flags)
    file, line = sample
    command = ("timeout", "-k", "10", "60", *LAUNCHER, "-n", "2", program, file)
    assert run(*command, environment={"LD_LIBRARY_PATH": str(libraries)}) == f"2 {line}"


def test_missing_package_of_component_mpi_is_named(run, start, packages, tmp_path):
    for name in NAMES - {MPI_DEVELOPMENT}:
        run("dpkg-deb", "--extract", packages[name], tmp_path)
    setting = f"-DMPI_CXX_COMPILER={COMPILER}"
    done = configure(start, HERE / "mpi", tmp_path / "build", tmp_path / "usr", setting)
    assert done.code != 0
    text = " ".join(done.err.split())
    assert "the part of forebay for Open MPI 4." in text
    assert "install its development package" in text
