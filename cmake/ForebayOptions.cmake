# SPDX-License-Identifier: Apache-2.0
#
# Every switch of the build, each with one sentence, and the compile flags that follow from them.
# The list is short on purpose: a decision is better than an option.

option(FOREBAY_TESTS "Build the unit tests and register them with ctest." ${PROJECT_IS_TOP_LEVEL})
option(FOREBAY_BENCH "Build the benchmark programs." ${PROJECT_IS_TOP_LEVEL})
option(FOREBAY_EXAMPLES "Build the examples and run each as a test." ${PROJECT_IS_TOP_LEVEL})
option(FOREBAY_PROGRAMS "Build programs and tests of the whole; else the library and its tests." ON)
option(FOREBAY_FUZZ "Build the fuzz targets (clang only)." OFF)
option(FOREBAY_STRICT "Treat every warning of the project's own code as an error." OFF)
option(FOREBAY_CCACHE "Compile through ccache when it is installed." ON)
set(FOREBAY_TEST_SHARDS
    4
    CACHE STRING "Processes that share the cases of a test program.")
set(FOREBAY_SANITIZE
    ""
    CACHE STRING "Sanitizers to compile with, as in -fsanitize=; empty for none.")

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
    # Paths count from the source tree, so that every checkout on a machine shares what is compiled.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" CCACHE_NOHASHDIR=1
        "${FOREBAY_CCACHE_PROGRAM}")
  endif()
endif()

# Flags of every target of ours; never of those who link to us.
add_library(forebay_flags INTERFACE)
target_compile_features(forebay_flags INTERFACE cxx_std_20)
target_compile_options(forebay_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow)
# Designated initialisers are our style, and what they leave out has a default.
target_compile_options(forebay_flags INTERFACE -Wno-missing-field-initializers)
# No path of the machine that built it ends up in a program, its messages or its debug information.
target_compile_options(forebay_flags INTERFACE "-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=")
# Calls inside the one shared library need not go through its symbol table.
target_compile_options(forebay_flags INTERFACE -fno-semantic-interposition)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # clang draws -Wconversion and -Wshadow wider than g++ does: one rule for both.
  target_compile_options(forebay_flags INTERFACE -Wno-sign-conversion -Wno-shadow)
endif()
if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Sources that are compiled together look like headers to it.
  target_compile_options(forebay_flags INTERFACE -Wno-subobject-linkage)
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
    # Its check of vtables asks through a pipe whether an address can be read: where a test uses
    # up the descriptors of its process, every object that it meets first there seems invalid.
    target_compile_options(forebay_flags INTERFACE -fno-sanitize=vptr)
    target_link_options(forebay_flags INTERFACE -fno-sanitize=vptr)
  endif()
endif()
