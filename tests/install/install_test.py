# SPDX-License-Identifier: Apache-2.0
"""External projects build against the installed library, by CMake and by pkg-config."""

import os
import random
import shutil
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BIN = ROOT / ".venv" / "bin"
IS_ALL = os.environ.get("FOREBAY_TEST_ALL") == "1"
WARNINGS = ("-std=c++20", "-Wall", "-Wextra", "-Werror")


def configure_mpi_project(start, prefix, build, *settings):
    """Configures the external project of several ranks."""
    command = ("cmake", "-S", HERE / "mpi", "-B", build, "-G", "Ninja")
    return start(*command, f"-DCMAKE_PREFIX_PATH={prefix}", *settings)


def one_line(text):
    return " ".join(text.split())


@pytest.fixture(scope="module")
def downstream(run, prefix, tmp_path_factory):
    """The program built by the example project."""
    build = tmp_path_factory.mktemp("downstream")
    run("cmake", "-S", HERE, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build)
    return build / "downstream"


@pytest.fixture
def sample(tmp_path):
    """A file, and the line that the programs print for it."""
    content = random.Random(7).randbytes(1_000_003)
    (tmp_path / "file").write_bytes(content)
    return tmp_path / "file", f"{len(content)} {sum(content)}\n"


def test_cmake_project_reads_a_file(run, downstream, sample):
    file, line = sample
    assert run(downstream, file) == line


def test_missing_file_is_reported_by_cmake_project(start, downstream, tmp_path):
    missing = tmp_path / "missing"
    done = start(downstream, missing)
    assert done.code == 1
    assert str(missing) in done.err
    assert not missing.exists()


def test_cmake_project_with_mpi_reads_a_file(run, prefix, tmp_path, sample):
    """With the component mpi, and the MPI of the installed build, in any directory."""
    build = tmp_path / "build"
    settings = (f"-DMPI_CXX_COMPILER={BIN / 'mpicxx'}", "-DMPI_CXX_SKIP_MPICXX=TRUE")
    configure_mpi_project(run, prefix, build, *settings)
    run("cmake", "--build", build)
    file, line = sample
    assert run(BIN / "mpiexec", "-n", "3", build / "downstream_mpi", file) == f"3 {line}"


def test_pkg_config_compiles_program_that_reads_a_file(run, prefix, tmp_path, sample):
    environment = {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "forebay", environment=environment).split()
    program = tmp_path / "program"
    run("c++", *WARNINGS, HERE / "downstream.cpp", "-o", program, *flags)
    file, line = sample
    assert run(program, file, environment={"LD_LIBRARY_PATH": str(prefix / "lib")}) == line


def test_pkg_config_compiles_program_of_ranks(run, prefix, tmp_path, sample):
    environment = {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    options = ("--cflags", "--libs", "forebay-mpi")
    flags = run("pkg-config", *options, environment=environment).split()
    program, source = tmp_path / "program", HERE / "mpi" / "downstream_mpi.cpp"
    # The C++ bindings of MPICH have warnings.
    run(BIN / "mpicxx", "-std=c++20", "-DMPICH_SKIP_MPICXX", source, "-o", program, *flags)
    file, line = sample
    libraries = {"LD_LIBRARY_PATH": str(prefix / "lib")}
    assert run(BIN / "mpiexec", "-n", "2", program, file, environment=libraries) == f"2 {line}"


def test_pkg_config_names_the_mpi(run, prefix):
    environment = {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    names = ("pkg-config", "--variable=mpi_library", "forebay-mpi")
    assert run(*names, environment=environment) == "MPICH\n"


def test_installed_examples_build_and_run(run, prefix, tmp_path):
    source = prefix / "share" / "doc" / "forebay" / "examples"
    run("cmake", "-S", source, "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
    programs = ("read_range", "c_read_slab", "c_checkpoint")
    targets = [] if IS_ALL else ["--target", *programs]
    run("cmake", "--build", tmp_path, *targets, limit_s=600)
    for program in programs:
        run(tmp_path / program, cwd=tmp_path)


def test_other_mpi_is_refused_by_name(start, prefix, tmp_path):
    compiler = shutil.which("mpicxx.openmpi")
    if compiler is None:
        pytest.skip("no second MPI: mpicxx.openmpi is not installed; scripts/setup all does it")
    setting = f"-DMPI_CXX_COMPILER={compiler}"
    done = configure_mpi_project(start, prefix, tmp_path / "build", setting)
    assert done.code != 0
    printed = one_line(done.err)
    assert "forebay::mpi was built with MPICH 5." in printed
    assert "but the MPI found is Open MPI 4." in printed
    assert "set MPI_CXX_COMPILER to the C++ compiler of MPICH" in printed


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ('#define I_MPI_VERSION "2021.13"\n#define MPICH_VERSION "4.1"\n', "Intel MPI 2021.13"),
        ('# define MPICH_VERSION "4.2.1"\n', "MPICH 4.2.1"),
        (
            "#define OMPI_MAJOR_VERSION 5\n#define OMPI_MINOR_VERSION 0\n"
            "#define OMPI_RELEASE_VERSION 6\n",
            "Open MPI 5.0.6",
        ),
        ("#define MPI_VERSION 3\n", "an unknown MPI "),
    ],
)
def test_mpi_is_identified_by_macros_of_its_header(start, prefix, tmp_path, header, name):
    (tmp_path / "mpi.h").write_text(f"/* a; [b] */\n{header}")
    script = tmp_path / "script.cmake"
    module = prefix / "lib" / "cmake" / "forebay" / "forebayMpiLibrary.cmake"
    script.write_text(
        f'include("{module}")\nset(MPI_CXX_INCLUDE_DIRS /missing "{tmp_path}")\n'
        'forebay_identify_mpi(found)\nmessage("${found_name} ${found_version}")\n'
    )
    assert start("cmake", "-P", script).err == f"{name}\n"


def test_component_mpi_of_library_without_mpi_is_refused(start, prefix, library_build, tmp_path):
    """The package files as a build without MPI installs them."""
    copy = Path(shutil.copytree(prefix, tmp_path / "prefix", symlinks=True))
    files = copy / "lib" / "cmake" / "forebay"
    for file in files.glob("forebayMpiTargets*.cmake"):
        file.unlink()
    shutil.copy(library_build / "forebayConfig.cmake", files)
    done = configure_mpi_project(start, copy, tmp_path / "build")
    assert done.code != 0
    assert "this forebay was built without MPI, so it has no component mpi" in one_line(done.err)
    assert "-DFOREBAY_MPI_COMPILER=" in done.err


def test_component_mpi_that_is_not_installed_is_refused(start, prefix, tmp_path):
    """As where the development package for MPI is missing."""
    copy = Path(shutil.copytree(prefix, tmp_path / "prefix", symlinks=True))
    for file in (copy / "lib" / "cmake" / "forebay").glob("forebayMpiTargets*.cmake"):
        file.unlink()
    done = configure_mpi_project(start, copy, tmp_path / "build")
    assert done.code != 0
    assert "the part of forebay for MPICH 5." in one_line(done.err)
    assert "install its development package" in one_line(done.err)


def test_library_alone_needs_no_package_of_tools(library_build):
    cache = (library_build / "CMakeCache.txt").read_text()
    assert [name for name in ("fmt_DIR", "ZLIB_", "fuse3_", "pugixml_") if name in cache] == []


def test_library_alone_is_built_and_installed(run, library_build, tmp_path, sample):
    """Its lowest module only, unless FOREBAY_TEST_ALL is 1: the library takes minutes."""
    targets = [] if IS_ALL else ["--target", "forebay_base_objects"]
    run("cmake", "--build", library_build, *targets, limit_s=3000)
    if IS_ALL:
        prefix = tmp_path / "prefix"
        run("cmake", "--install", library_build, "--prefix", prefix)
        assert sorted(path.name for path in prefix.iterdir()) == ["include", "lib", "share"]
        run(library_build / "examples" / "read_range", cwd=tmp_path)
        build = tmp_path / "build"
        run("cmake", "-S", HERE, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}")
        run("cmake", "--build", build)
        test_pkg_config_compiles_program_that_reads_a_file(run, prefix, tmp_path, sample)
        file, line = sample
        assert run(build / "downstream", file) == line


def test_benchmarks_without_tools_are_refused(start, tmp_path):
    settings = ("-DFOREBAY_TOOLS=OFF", "-DFOREBAY_BENCH=ON")
    done = start("cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", *settings)
    assert done.code != 0
    assert "set -DFOREBAY_BENCH=OFF or -DFOREBAY_TOOLS=ON" in one_line(done.err)


def test_subproject_configures_beside_targets_of_its_parent(run, tmp_path):
    lines = ("cmake_minimum_required(VERSION 3.25)", "project(parent LANGUAGES CXX)")
    lines += ("add_custom_target(core)", f'add_subdirectory("{ROOT}" forebay)')
    (tmp_path / "CMakeLists.txt").write_text("\n".join(lines))
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja")
