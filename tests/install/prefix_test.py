# SPDX-License-Identifier: Apache-2.0
"""Content of an installed and moved prefix, and the command `forebay` in it."""

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PYTHON = ROOT / ".venv" / "bin" / "python3"
REQUIRED = ("click", "matplotlib", "numpy", "rich")
TOOLS = {
    f"forebay-{name}"
    for name in (
        "bench-tasks",
        "calibrate",
        "emufs",
        "kernel",
        "kernel-mpi",
        "run-agent",
    )
} | {"libforebay_run.so"}  # needs libc alone
RUN_PATH = re.compile(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]")


def files_below(directory):
    return sorted(path.relative_to(directory) for path in directory.rglob("*") if path.is_file())


def elf_files(directory):
    regular = [path for path in directory.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in regular if path.read_bytes().startswith(b"\x7fELF")]


@pytest.mark.parametrize(
    "path",
    [
        "bin/forebay",
        "include/forebay/forebay.hpp",
        "lib/cmake/forebay/forebayConfig.cmake",
        "lib/libforebay.so",
        "lib/libforebay_mpi.so",
        "lib/pkgconfig/forebay.pc",
        "lib/pkgconfig/forebay-mpi.pc",
        "libexec/forebay/forebay-tipsy",
        "share/doc/forebay/CHANGELOG.md",
        "share/doc/forebay/LICENSE",
        "share/doc/forebay/README.md",
        "share/doc/forebay/docs/guides/install.md",
        "share/doc/forebay/examples/CMakeLists.txt",
        "share/doc/forebay/examples/read_range.cpp",
        "share/forebay/kernels/runner.c",
        "share/forebay/machines/local.toml",
        "share/forebay/python/forebay/cli/__init__.py",
        "share/forebay/python/forebay/kernel/shipped/enzo.toml",
    ],
)
def test_prefix_contains(prefix, path):
    assert (prefix / path).is_file()


def test_public_headers_and_no_others_are_installed(prefix):
    by_charmc = {Path("forebay/charm") / name for name in ("forebay_charm.ci", "forebay_charm.hpp")}
    expected = set(files_below(ROOT / "include")) | by_charmc
    assert set(files_below(prefix / "include")) == expected


def test_pkg_config_leads_to_the_hdf5_driver_alone_in_its_directory(run, prefix, tmp_path):
    environment = {"PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    found = run("pkg-config", "--variable=hdf5plugindir", "forebay", environment=environment)
    folder = Path(found.strip())
    assert [path.name for path in folder.iterdir()] == ["libforebay_vfd.so"]
    program = "import h5py, sys; h5py.File(sys.argv[1], 'w')['a'] = 1"
    variables = {"HDF5_PLUGIN_PATH": str(folder), "HDF5_DRIVER": "forebay"}
    run(PYTHON, "-c", program, tmp_path / "a.h5", environment=variables)


def test_tests_and_benchmarks_are_not_installed(prefix):
    names = [path.name for path in (prefix / "libexec" / "forebay").iterdir()]
    # `forebay demo` runs forebay-bench-tasks.
    unexpected = [
        name
        for name in names
        if name.startswith(("test", "forebay-bench")) and name != "forebay-bench-tasks"
    ]
    assert unexpected == []


def test_component_product_has_no_command(run, tmp_path):
    """In .venv, bin/forebay is the editable installation of scripts/build."""
    build = ROOT / "build" / "release"
    run("cmake", "--install", build, "--prefix", tmp_path, "--component", "product")
    assert not (tmp_path / "bin").exists()
    assert not (tmp_path / "share" / "doc").exists()


@pytest.mark.parametrize("folder", ["bin", "lib/cmake", "lib/pkgconfig"])
def test_texts_do_not_contain_the_source_path(prefix, folder):
    texts = [path for path in (prefix / folder).rglob("*") if path.is_file()]
    assert texts
    assert [path for path in texts if str(ROOT) in path.read_text()] == []


def test_run_paths_do_not_name_the_build_tree(run, prefix):
    files = elf_files(prefix)
    assert prefix / "lib" / "libforebay.so.1.0.0" in files
    run_paths = {file.name: RUN_PATH.findall(run("readelf", "-d", file)) for file in files}
    assert any("$ORIGIN" in found[0] for found in run_paths.values() if found)
    build = str(ROOT / "build")
    assert {
        name for name, found in run_paths.items() if any(build in one for one in found)
    } == set()


def test_programs_find_the_moved_library(run, prefix):
    programs = elf_files(prefix / "libexec")
    users = set()
    for program in programs:
        libraries = run("ldd", program)
        assert "not found" not in libraries
        for line in libraries.splitlines():
            if "libforebay" in line:
                assert f"{prefix}/" in line.replace("/libexec/forebay/../../", "/")
                users.add(program.name)
    # Tools use internals of the library, so they contain it.
    names = {program.name for program in programs if not program.name.startswith("_forebay_tools.")}
    assert users == names - TOOLS


def test_machine_files_are_those_of_the_prefix(run, start, prefix, tmp_path):
    """In the library, and in a program that contains it. Another prefix may be one level above."""
    other = prefix.parent / "share" / "forebay" / "machines"
    other.mkdir(parents=True)
    shutil.copy(prefix / "share" / "forebay" / "machines" / "local.toml", other / "other.toml")
    programs, snapshot = prefix / "libexec" / "forebay", tmp_path / "snapshot"
    run(programs / "forebay-tipsy", "generate", snapshot, "--gas", "10")
    analyze = (programs / "forebay-tipsy", "analyze", snapshot)
    printed = start(*analyze, environment={"FOREBAY_MACHINE": "unknown"}).err
    assert "known machines are" in printed
    assert "local" in printed
    assert "other" not in printed
    listed = json.loads(run(prefix / "bin" / "forebay", "machine", "list", "--json", "-"))
    assert str(prefix / "share" / "forebay" / "machines") in listed["folders"]
    assert str(other) not in listed["folders"]


def test_command_prints_its_version(run, prefix):
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert run(prefix / "bin" / "forebay", "--version") == f"forebay, version {version}\n"


def test_command_runs_through_a_symbolic_link(run, prefix, tmp_path):
    (tmp_path / "link").symlink_to(prefix / "bin" / "forebay")
    assert "version" in run(tmp_path / "link", "--version")


def test_command_runs_programs_of_its_prefix(run, prefix):
    shipped = sorted(path.stem for path in (ROOT / "machines").glob("*.toml"))
    found = json.loads(run(prefix / "bin" / "forebay", "machine", "list", "--json", "-"))
    assert [Path(one["path"]) for one in found["machines"]] == [
        prefix / "share" / "forebay" / "machines" / f"{name}.toml" for name in shipped
    ]


def test_command_reads_a_file(run, prefix, tmp_path):
    forebay, file = prefix / "bin" / "forebay", tmp_path / "snapshot"
    run(forebay, "tipsy", "generate", file, "--gas", "3", "--dark", "5", "--star", "2")
    info = json.loads(run(forebay, "tipsy", "info", file, "--json", "-"))
    assert info["snapshot"]["nbodies"] == 10


def test_command_imports_the_package_of_its_prefix(run, prefix, tmp_path):
    """Even if the Python has another forebay installed, as that of .venv has."""
    for part in ("bin", "share/forebay"):
        shutil.copytree(prefix / part, tmp_path / part)
    (tmp_path / "share/forebay/python/forebay/__init__.py").write_text('__version__ = "9.9"\n')
    assert run(tmp_path / "bin" / "forebay", "--version") == "forebay, version 9.9\n"


def test_missing_packages_are_named(start, prefix):
    done = start(PYTHON, "-S", "-E", prefix / "bin" / "forebay", "--version")
    assert (done.code, done.out) == (1, "")
    assert f"-m pip install {' '.join(REQUIRED)}`" in done.err
    assert f"apt-get install {' '.join(f'python3-{name}' for name in REQUIRED)}`" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("missing", REQUIRED)
def test_missing_package_alone_is_named(start, prefix, tmp_path, missing):
    for name in REQUIRED:
        if name != missing:
            (tmp_path / f"{name}.py").touch()
    environment = {"PYTHONPATH": str(tmp_path)}
    done = start(PYTHON, "-S", prefix / "bin" / "forebay", "ls", environment=environment)
    assert done.code == 1
    assert f" lacks {missing}; run `" in done.err
    assert (
        f"-m pip install {missing}`, or on Debian `apt-get install python3-{missing}`" in done.err
    )


def test_required_packages_are_those_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    names = sorted(re.match(r"\w+", line).group() for line in project["dependencies"])
    assert tuple(names) == REQUIRED
    launcher = (ROOT / "cmake" / "launcher.py").read_text()
    assert f"REQUIRED = {REQUIRED}".replace("'", '"') in launcher
