# SPDX-License-Identifier: Apache-2.0
#
# All external dependencies of the build, each found once here under one name.
# docs/dependencies.md has the reason for each. Users of the library see only tl::expected.
find_package(Threads REQUIRED)
find_package(tl-expected REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
find_package(tomlplusplus 3.3 REQUIRED CONFIG)
find_package(PkgConfig REQUIRED)
pkg_check_modules(liburing REQUIRED IMPORTED_TARGET liburing>=2.3)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash>=0.8)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc>=2.9)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd>=1.4)

# The library needs none of them.
if(FOREBAY_TOOLS)
  find_package(CLI11 2.1 REQUIRED)
  find_package(fmt 9 REQUIRED)
  find_package(ZLIB 1.2.11 REQUIRED)
  pkg_check_modules(fuse3 REQUIRED IMPORTED_TARGET fuse3>=3.14)
  pkg_check_modules(pugixml REQUIRED IMPORTED_TARGET pugixml>=1.13)
endif()

# nanobind is a package of the Python for which the extension modules are built: those of the
# command line and of the Python package.
if(FOREBAY_TOOLS OR FOREBAY_PYTHON)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
  execute_process(
    COMMAND "${Python_EXECUTABLE}" -m nanobind --cmake_dir
    OUTPUT_STRIP_TRAILING_WHITESPACE
    ERROR_QUIET
    OUTPUT_VARIABLE nanobind_ROOT
    RESULT_VARIABLE nanobind_missing)
  if(nanobind_missing)
    message(FATAL_ERROR "${Python_EXECUTABLE} has no nanobind, which FOREBAY_TOOLS=ON and "
                        "FOREBAY_PYTHON=ON require; run `${Python_EXECUTABLE} -m pip install "
                        "nanobind==3.1.0`, or name another Python with -DPython_EXECUTABLE")
  endif()
  unset(nanobind_missing)
  find_package(nanobind 3.1 CONFIG REQUIRED)
endif()
if(FOREBAY_PYTHON)
  # Where extension modules are installed. scikit-build-core sets SKBUILD when it builds a wheel.
  set(forebay_site_packages
      "${CMAKE_INSTALL_LIBDIR}/python${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}/site-packages")
  if(SKBUILD)
    set(forebay_site_packages "${SKBUILD_PLATLIB_DIR}")
  endif()
endif()

# The product is also built without them.
if(FOREBAY_TESTS)
  find_package(GTest 1.12)
  pkg_check_modules(seccomp IMPORTED_TARGET libseccomp)
  if(NOT GTest_FOUND OR NOT seccomp_FOUND)
    message(STATUS "Tests are left out: GoogleTest or libseccomp was not found "
                   "(Debian: libgmock-dev libgtest-dev libseccomp-dev)")
    set(FOREBAY_TESTS OFF)
  endif()
endif()
