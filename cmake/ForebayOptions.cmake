# SPDX-License-Identifier: Apache-2.0
#
# All options of the build, each with one sentence, and the compile flags that follow from them.
# The list is short on purpose: a decision is better than an option.

option(FOREBAY_TESTS "Build the unit tests and register them with ctest." ${PROJECT_IS_TOP_LEVEL})
option(FOREBAY_BENCH "Build the benchmark programs." ${PROJECT_IS_TOP_LEVEL})
option(FOREBAY_EXAMPLES "Build the examples and run each as a test." ${PROJECT_IS_TOP_LEVEL})
option(FOREBAY_TOOLS "Build the command line; otherwise only the library and its tests."
       ${PROJECT_IS_TOP_LEVEL})
option(FOREBAY_PYTHON "Build the extension modules of the Python package; requires nanobind." OFF)
option(FOREBAY_FUZZ "Build the fuzz targets (clang only)." OFF)
option(FOREBAY_STRICT "Treat every warning of the project's own code as an error." OFF)
option(FOREBAY_CCACHE "Compile through ccache if it is installed." ON)
set(FOREBAY_TEST_SHARDS
    4
    CACHE STRING "Processes that share the cases of a test program.")
set(FOREBAY_SANITIZE
    ""
    CACHE STRING "Sanitizers to compile with, as in -fsanitize=; empty for none.")

if(FOREBAY_BENCH AND NOT FOREBAY_TOOLS)
  message(FATAL_ERROR "FOREBAY_BENCH=ON requires FOREBAY_TOOLS=ON, because benchmarks share code "
                      "with the tools; set -DFOREBAY_BENCH=OFF or -DFOREBAY_TOOLS=ON")
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

if(FOREBAY_CCACHE)
  find_program(FOREBAY_CCACHE_PROGRAM ccache)
  mark_as_advanced(FOREBAY_CCACHE_PROGRAM)
  if(FOREBAY_CCACHE_PROGRAM)
    # Paths are relative to the source tree, so that all checkouts on a machine share compiled
    # files.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
        "${FOREBAY_CCACHE_PROGRAM}")
  endif()
endif()

# Flags of every target of this project, but not of projects that link to it.
add_library(forebay_flags INTERFACE)
target_compile_features(forebay_flags INTERFACE cxx_std_20)
target_compile_options(forebay_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow)
# Designated initializers may omit members with a default.
target_compile_options(forebay_flags INTERFACE -Wno-missing-field-initializers)
# Programs, their messages and their debug information contain no path of the build machine.
target_compile_options(forebay_flags INTERFACE "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
# Calls inside the shared library need no lookup in its symbol table.
target_compile_options(forebay_flags INTERFACE -fno-semantic-interposition)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # -Wconversion and -Wshadow include more in clang than in g++: one rule for both.
  target_compile_options(forebay_flags INTERFACE -Wno-sign-conversion -Wno-shadow)
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ treats sources that are compiled together as headers.
  target_compile_options(forebay_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
if(FOREBAY_STRICT)
  target_compile_options(forebay_flags INTERFACE -Werror)
endif()
if(FOREBAY_SANITIZE)
  set(sanitize -fsanitize=${FOREBAY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(forebay_flags INTERFACE ${sanitize})
  target_link_options(forebay_flags INTERFACE ${sanitize})
  unset(sanitize)
  if(FOREBAY_SANITIZE MATCHES "undefined")
    # Its check of vtables uses a pipe to find out whether an address can be read. If a test
    # exhausts the descriptors of its process, each object that is checked for the first time
    # appears invalid.
    target_compile_options(forebay_flags INTERFACE -fno-sanitize=vptr)
    target_link_options(forebay_flags INTERFACE -fno-sanitize=vptr)
  endif()
endif()
