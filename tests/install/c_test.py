# SPDX-License-Identifier: Apache-2.0
"""Projects in C build against the installed library, by CMake and by pkg-config."""

import random
import re
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SOURCES = HERE / "c"
BIN = ROOT / ".venv" / "bin"
WARNINGS = ("-pedantic", "-Wall", "-Wextra", "-Wstrict-prototypes", "-Werror")
HEADER_FUNCTION = re.compile(r"^FOREBAY_API [\w *]+ (forebay_\w+)\(", re.MULTILINE)


@pytest.fixture
def sample(tmp_path):
    """A file, and the line that the program prints for it."""
    content = random.Random(11).randbytes(100_003)
    (tmp_path / "file").write_bytes(content)
    return tmp_path / "file", f"{len(content)} {sum(content)}\n"


@pytest.fixture(scope="module")
def package(run, prefix):
    """package(name): the flags of a package, and the environment of programs that use it."""
    libraries = str(prefix / "lib")

    def flags(name):
        environment = {"PKG_CONFIG_PATH": f"{libraries}/pkgconfig"}
        printed = run("pkg-config", "--cflags", "--libs", name, environment=environment)
        return printed.split(), {"LD_LIBRARY_PATH": libraries}

    return flags


def test_cmake_project_in_c_alone_reads_a_file(run, start, prefix, tmp_path, sample):
    build = tmp_path / "build"
    defines = (f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_DISABLE_FIND_PACKAGE_tl-expected=ON")
    run("cmake", "-S", SOURCES, "-B", build, "-G", "Ninja", *defines)
    run("cmake", "--build", build)
    assert "CMAKE_CXX_COMPILER:" not in (build / "CMakeCache.txt").read_text()
    file, line = sample
    assert run(build / "downstream_c", file) == line
    missing = start(build / "downstream_c", tmp_path / "missing")
    assert missing.code == 1
    assert "No such file or directory" in missing.err


@pytest.mark.parametrize("standard", ["c11", "c17"])
def test_pkg_config_compiles_program_in_c(run, package, tmp_path, sample, standard):
    flags, environment = package("forebay")
    program = tmp_path / "program"
    source = SOURCES / "downstream.c"
    run("cc", f"-std={standard}", *WARNINGS, source, "-o", program, *flags)
    file, line = sample
    assert run(program, file, environment=environment) == line


@pytest.mark.parametrize("ranks", [1, 3])
def test_pkg_config_compiles_program_of_ranks_in_c(run, package, tmp_path, ranks):
    flags, environment = package("forebay-mpi")
    program = tmp_path / "program"
    run(BIN / "mpicc", "-std=c11", *WARNINGS, SOURCES / "ranks.c", "-o", program, *flags)
    command = (BIN / "mpiexec", "-n", ranks, program, tmp_path / "rows.fb")
    assert run(*command, environment=environment) == f"{ranks}\n"


@pytest.mark.parametrize("standard", ["c++11", "c++20"])
def test_header_is_valid_in_cpp(run, package, tmp_path, standard):
    source = tmp_path / "source.cpp"
    source.write_text(
        "#include <forebay.h>\n"
        "int main() {\n"
        "  forebay_block block FOREBAY_INIT(forebay_block);\n"
        "  return block.size == sizeof block && *forebay_version() == '1' ? 0 : 1;\n"
        "}\n"
    )
    warnings = ("-pedantic", "-Wall", "-Wextra", "-Werror", "-Wno-missing-field-initializers")
    flags, environment = package("forebay")
    program = tmp_path / "program"
    run("c++", f"-std={standard}", *warnings, source, "-o", program, *flags)
    run(program, environment=environment)


@pytest.mark.parametrize(
    ("library", "headers"),
    [("libforebay", "include/forebay/c/*.h"), ("libforebay_mpi", "include/forebay_mpi.h")],
)
def test_functions_of_headers_are_exported(library, headers):
    declared = {
        name for path in ROOT.glob(headers) for name in HEADER_FUNCTION.findall(path.read_text())
    }
    symbols = (HERE / "abi" / f"{library}.symbols").read_text()
    exported = set(re.findall(r"^T (forebay_\w+)@@FOREBAY_1$", symbols, re.MULTILINE))
    assert declared
    assert declared == exported
