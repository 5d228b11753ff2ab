# SPDX-License-Identifier: Apache-2.0
"""The recipe of Spack requires what CMake requires. Spack itself is not needed.

Stand-ins for Spack's directives record what the recipe declares.
"""

import contextlib
import re
import sys
import tomllib
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
REPOSITORY = ROOT / "packaging" / "spack" / "spack_repo" / "forebay"
RECIPE = REPOSITORY / "packages" / "forebay" / "package.py"
# The packages of Spack for the names that differ in CMake and pkg-config.
SPACK_NAMES = {
    "CLI11": "cli11",
    "Python": "python",
    "Eigen3": "eigen",
    "OpenSSL": "openssl",
    "ZLIB": "zlib-api",
    "fuse3": "libfuse",
    "libxxhash": "xxhash",
    "libzstd": "zstd",
    "nanobind": "py-nanobind",
    "nlohmann_json": "nlohmann-json",
}
# The variant tools switches both options.
TOOLS_CONDITIONS = ("FOREBAY_TOOLS", "FOREBAY_TOOLS OR FOREBAY_PYTHON")
PARTS_OF_CMAKE = {"PkgConfig", "Threads"}
FOR_DEVELOPERS = {
    "FOREBAY_FUZZ",
    "FOREBAY_SANITIZE",
    "FOREBAY_STRICT",
    "FOREBAY_TEST_SHARDS",
}


class Recorder:
    """Directives of Spack that keep their arguments."""

    def __init__(self):
        self.condition = None
        self.dependencies = {}
        self.variants = set()

    def depends_on(self, spec, when=None, **_):
        name, _, versions = spec.partition("@")
        self.dependencies[name] = (versions.partition(":")[0], when or self.condition)

    def variant(self, name, **_):
        self.variants.add(name)

    @contextlib.contextmanager
    def when(self, condition):
        self.condition = condition
        yield
        self.condition = None

    def modules(self):
        """The modules that the recipe imports, by name."""
        directives = types.ModuleType("spack.package")
        for name in ("conflicts", "extends", "license", "requires", "version"):
            setattr(directives, name, lambda *_, **__: None)
        for name in ("depends_on", "variant", "when"):
            setattr(directives, name, getattr(self, name))
        build_system = types.ModuleType("spack_repo.builtin.build_systems.cmake")
        build_system.CMakePackage = object
        build_system.generator = lambda *_: None
        parents = ("spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems")
        return {
            **{name: types.ModuleType(name) for name in parents},
            directives.__name__: directives,
            build_system.__name__: build_system,
        }


class StandInSpec(dict):
    """A concrete spec with some variants, and an MPI whose compiler is mpic++."""

    def __init__(self, variants):
        super().__init__(mpi=types.SimpleNamespace(mpicxx="/opt/mpi/bin/mpic++"))
        self.variants = variants

    def satisfies(self, condition):
        return condition in self.variants


@pytest.fixture
def recipe(monkeypatch):
    """What the recipe declares, and its class."""
    recorder = Recorder()
    for name, module in recorder.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    names = {"__file__": str(RECIPE), "__name__": "package"}
    exec(compile(RECIPE.read_text(), RECIPE, "exec"), names)
    return recorder, names["Forebay"]


def arguments(package_class, *variants):
    """The arguments of CMake for a build with these variants."""
    package = package_class()
    package.spec = StandInSpec(variants)
    value = {True: "ON", False: "OFF"}
    package.define = lambda name, given: f"-D{name}={value.get(given, given)}"
    package.define_from_variant = lambda name, one: package.define(name, f"+{one}" in variants)
    return package.cmake_args()


def required_by_cmake():
    """(minimal version, condition) of each package in ForebayDependencies.cmake, by Spack's name"""
    text = (ROOT / "cmake" / "ForebayDependencies.cmake").read_text()
    required, condition = {}, None
    for line in text.splitlines():
        if line.startswith("if("):
            condition = line.removeprefix("if(").removesuffix(")")
        if line.startswith("endif("):
            condition = None
        found = re.search(r"find_package\((\S+?)(?: ([\d.]+))?[ )].*REQUIRED|REQUIRED", line)
        if found is None:
            continue
        name, version = found.groups()
        if name is None:
            name, version = re.search(r"IMPORTED_TARGET (\w+)>=([\d.]+)\)", line).groups()
        if name not in PARTS_OF_CMAKE:
            required[SPACK_NAMES.get(name, name)] = (version or "", condition)
    return required


def test_recipe_requires_the_versions_of_cmake(recipe):
    dependencies = recipe[0].dependencies
    expected = required_by_cmake()
    assert len(expected) > 10
    assert expected["fmt"] == ("9", "FOREBAY_TOOLS")
    # zlib-api is an interface, whose implementations have versions of their own.
    expected["zlib-api"] = ("", "FOREBAY_TOOLS")
    conditions = {None: None} | dict.fromkeys(TOOLS_CONDITIONS, "+tools")
    for name, (version, condition) in expected.items():
        assert dependencies[name] == (version, conditions[condition]), name


def test_recipe_requires_nothing_else(recipe):
    builds = {"c", "cmake", "cxx", "mpi", "pkgconfig"}
    names = {name for name in recipe[0].dependencies if not name.startswith("py-")}
    assert names - set(required_by_cmake()) == builds


def test_recipe_requires_the_python_packages_of_the_project(recipe):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    project = settings["project"]
    build = [one for one in settings["build-system"]["requires"] if one.startswith("nanobind")]
    lines = [*project["dependencies"], *build, "python" + project["requires-python"]]
    expected = {line if line.startswith("python>") else f"py-{line}" for line in lines}
    found = {
        f"{name}>={version}"
        for name, (version, condition) in recipe[0].dependencies.items()
        if name.startswith("py") and condition == "+tools"
    }
    assert found == expected


def test_recipe_requires_the_cmake_of_the_project(recipe):
    text = (ROOT / "CMakeLists.txt").read_text()
    minimum = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", text).group(1)
    assert recipe[0].dependencies["cmake"][0] == minimum


def test_recipe_decides_every_option_that_is_not_for_developers(recipe):
    texts = [path.read_text() for path in (ROOT / "cmake").glob("*.cmake")]
    pattern = r"option\((FOREBAY_\w+)|set\((FOREBAY_\w+)\s[^)]*CACHE"
    options = {a or b for text in texts for a, b in re.findall(pattern, text)}
    # What only tests and benchmarks use.
    options -= {name for name in options if re.match("FOREBAY_(MPI_L|ADIOS|HDF5|PNETCDF)", name)}
    decided = {line[2:].partition("=")[0] for line in arguments(recipe[1], "+mpi", "+tools")}
    assert decided == options - FOR_DEVELOPERS


def test_variants_select_mpi_and_tools(recipe):
    assert recipe[0].variants == {"mpi", "tools"}
    assert "-DFOREBAY_MPI_COMPILER=/opt/mpi/bin/mpic++" in arguments(recipe[1], "+mpi")
    assert "-DFOREBAY_TOOLS=OFF" in arguments(recipe[1], "+mpi")
    assert "-DFOREBAY_MPI_COMPILER=" in arguments(recipe[1], "+tools")
    assert "-DFOREBAY_TOOLS=ON" in arguments(recipe[1], "+tools")


def test_cmake_uses_all_arguments_of_the_recipe(recipe, start, tmp_path):
    done = start("cmake", "-S", ROOT, "-B", tmp_path, "-G", "Ninja", *arguments(recipe[1]))
    assert done.code == 0, done.err
    assert "not used by the project" not in done.err


def test_recipe_builds_the_checkout_that_it_is_part_of(recipe):
    assert recipe[1].git == f"file://{ROOT}"
    assert (REPOSITORY / "repo.yaml").is_file()
