# SPDX-License-Identifier: Apache-2.0
"""The recipe of Spack 1.0 or newer. It builds the commits of the checkout that it is part of."""

from pathlib import Path

from spack.package import (
    conflicts,
    depends_on,
    extends,
    license,
    requires,
    variant,
    version,
    when,
)
from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

SOURCE_DIRECTORY = Path(__file__).resolve().parents[6]


class Forebay(CMakePackage):
    """Task-level parallel storage I/O: reads ahead for many tasks, and writes checkpoints while the
    program computes."""

    git = f"file://{SOURCE_DIRECTORY}"

    license("Apache-2.0")
    version("main", branch="main")

    variant("mpi", default=True, description="Build libforebay_mpi for the ranks of an MPI job")
    variant("tools", default=True, description="Build the command forebay and the Python module")

    generator("ninja")
    requires("platform=linux", msg="Forebay uses io_uring and other interfaces of Linux")
    conflicts("%gcc@:11", msg="Forebay is C++20 with coroutines: g++ 12 is the oldest that works")

    depends_on("cxx", type="build")
    depends_on("c", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("tl-expected", type=("build", "link"))  # in the public headers
    depends_on("eigen@3.4:3", type="build")
    depends_on("hwloc@2.9:")
    depends_on("liburing@2.3:")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("openssl@3.0:")
    depends_on("tomlplusplus@3.3:")
    depends_on("xxhash@0.8:")
    depends_on("zstd@1.4:")
    depends_on("mpi@3.0:", when="+mpi")

    extends("python", when="+tools")
    with when("+tools"):
        depends_on("cli11@2.1:", type="build")
        depends_on("fmt@9:")
        depends_on("libfuse@3.14:")
        depends_on("pugixml@1.13:")
        depends_on("zlib-api")
        depends_on("python@3.11:", type=("build", "link", "run"))
        depends_on("py-nanobind@3.1:", type="build")
        depends_on("py-click@8.1:", type="run")
        depends_on("py-matplotlib@3.6:", type="run")
        depends_on("py-numpy@1.24:", type="run")
        depends_on("py-rich@13:", type="run")

    def cmake_args(self):
        """The options of the build."""
        compiler = self.spec["mpi"].mpicxx if self.spec.satisfies("+mpi") else ""
        return [
            self.define("FOREBAY_MPI_COMPILER", compiler),
            self.define_from_variant("FOREBAY_TOOLS", "tools"),
            self.define_from_variant("FOREBAY_PYTHON", "tools"),
            # Spack has compiler wrappers and a cache of its own.
            self.define("FOREBAY_CCACHE", False),
            *(self.define(f"FOREBAY_{one}", False) for one in ("BENCH", "EXAMPLES", "TESTS")),
        ]

    def setup_run_environment(self, env):
        """`import forebay` finds the package; Spack adds the folder of its extension modules."""
        if self.spec.satisfies("+tools"):
            env.prepend_path("PYTHONPATH", self.prefix.share.forebay.python)
