# SPDX-License-Identifier: Apache-2.0
#
# Functions that make a directory of the source tree a part of the library, a program or a test.
# Each directory names only its files and dependencies; everything common is here.

# Targets beside `all`: `product` is the library and the programs of the command line,
# `product_tests` their tests; `bench` and `bench_tests` are the same for benchmarks. `forebay_core`
# is the product without EXTRA programs, so that `make build` is fast.
# A directory of another part than the product sets forebay_part.
set(forebay_part product)
foreach(part product bench)
  add_custom_target(${part})
  add_custom_target(${part}_tests)
endforeach()
add_custom_target(forebay_core)
add_dependencies(product forebay_core)

# forebay_libraries(<name> PUBLIC <targets>)
#
# Creates two libraries from the same objects, which forebay_link_objects() adds:
# - <name> is shared and exports only what FOREBAY_EXPORT marks. A user needs none of its private
#   dependencies, neither at compile time nor at link time.
# - <name>_private is static, for tests, tools and benchmarks, which use all of its symbols.
#
# Targets of this build link <name>_linked. It is the static one for programs with the property
# FOREBAY_PRIVATE, so that no program ever has both.
function(forebay_libraries name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PUBLIC")
  forebay_reject_unparsed(forebay_libraries "${arg_UNPARSED_ARGUMENTS}")
  add_library(${name} SHARED)
  add_library(${name}_private STATIC EXCLUDE_FROM_ALL)
  add_library(${name}_linked INTERFACE)
  foreach(library ${name} ${name}_private)
    set_target_properties(${library} PROPERTIES LINKER_LANGUAGE CXX)
    target_compile_features(${library} PUBLIC cxx_std_20)
    target_include_directories(
      ${library} PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                        "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
    target_link_libraries(${library} PRIVATE $<BUILD_INTERFACE:forebay_flags>)
  endforeach()
  set(is_private $<BOOL:$<TARGET_PROPERTY:FOREBAY_PRIVATE>>)
  list(TRANSFORM arg_PUBLIC REPLACE "_linked$" "" OUTPUT_VARIABLE public)
  target_link_libraries(${name} PUBLIC ${public})
  list(TRANSFORM arg_PUBLIC REPLACE "_linked$" "_private" OUTPUT_VARIABLE public)
  target_link_libraries(${name}_private PUBLIC ${public})
  target_link_libraries(${name}_linked INTERFACE $<IF:${is_private},${name}_private,${name}>)

  set(exports "${PROJECT_BINARY_DIR}/exports.map")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/exports.map.in" "${exports}" @ONLY)
  set_target_properties(
    ${name}
    PROPERTIES VERSION ${PROJECT_VERSION}
               SOVERSION ${PROJECT_VERSION_MAJOR}
               LINK_DEPENDS "${exports}"
               LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
  # Calls inside the library go directly to their target: a hit in a session is a few of them.
  target_link_options(${name} PRIVATE -Wl,-Bsymbolic-functions
                      "-Wl,--version-script=${exports}")
  add_dependencies(forebay_core ${name})
endfunction()

# forebay_link_objects(<name> <objects> [<libraries>])
#
# Adds the object library <objects> to both libraries of forebay_libraries(<name>). The libraries
# are those that its code needs.
function(forebay_link_objects name objects)
  set_target_properties(${objects} PROPERTIES CXX_VISIBILITY_PRESET hidden
                                              VISIBILITY_INLINES_HIDDEN ON)
  foreach(library ${name} ${name}_private)
    target_sources(${library} PRIVATE $<TARGET_OBJECTS:${objects}>)
    foreach(needed IN LISTS ARGN)
      target_link_libraries(${library} PRIVATE $<BUILD_INTERFACE:${needed}>)
    endforeach()
  endforeach()
endfunction()

# forebay_module(<name> SOURCES <files> [SIMULATION <files>] [DEPENDS <modules>]
#                [LIBRARIES <targets>] [TESTS <files>] [TEST_LIBRARIES <targets>]
#                [TEST_DEFINITIONS <NAME=value>])
#
# Adds the module <name> to the library. DEPENDS are the modules whose headers it includes, which
# must have been added before. SIMULATION are sources for tests, tools and benchmarks alone: the
# static library forebay_simulation. LIBRARIES come from ForebayDependencies.cmake. TESTS become the
# program test_<name>, also linked to TEST_LIBRARIES. A module of headers only has no SOURCES.
function(forebay_module name)
  cmake_parse_arguments(
    PARSE_ARGV 1 arg "" ""
    "SOURCES;SIMULATION;DEPENDS;LIBRARIES;TESTS;TEST_LIBRARIES;TEST_DEFINITIONS")
  forebay_reject_unparsed(forebay_module "${arg_UNPARSED_ARGUMENTS}")
  foreach(module IN LISTS arg_DEPENDS)
    if(NOT TARGET forebay_${module})
      message(FATAL_ERROR "module ${name} depends on ${module}, which is not below it")
    endif()
    list(APPEND modules forebay_${module})
  endforeach()

  add_library(forebay_${name} INTERFACE)
  target_include_directories(forebay_${name} INTERFACE "${PROJECT_SOURCE_DIR}/include"
                                                       "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(forebay_${name} INTERFACE tl::expected Threads::Threads ${modules}
                                                  ${arg_LIBRARIES})
  if(arg_SOURCES)
    add_library(forebay_${name}_objects OBJECT ${arg_SOURCES})
    target_link_libraries(forebay_${name}_objects PRIVATE forebay_${name} forebay_flags)
    forebay_link_objects(forebay forebay_${name}_objects ${arg_LIBRARIES})
  endif()
  if(arg_SIMULATION)
    add_library(forebay_${name}_simulation_objects OBJECT ${arg_SIMULATION})
    target_link_libraries(forebay_${name}_simulation_objects PRIVATE forebay_${name} forebay_flags)
    if(NOT TARGET forebay_simulation)
      add_library(forebay_simulation STATIC EXCLUDE_FROM_ALL)
      set_target_properties(forebay_simulation PROPERTIES LINKER_LANGUAGE CXX)
      target_link_libraries(forebay_simulation PUBLIC forebay_private)
      set(is_private $<BOOL:$<TARGET_PROPERTY:FOREBAY_PRIVATE>>)
      target_link_libraries(forebay_linked INTERFACE $<${is_private}:forebay_simulation>)
    endif()
    target_sources(forebay_simulation PRIVATE
                   $<TARGET_OBJECTS:forebay_${name}_simulation_objects>)
  endif()
  if(arg_TESTS)
    forebay_test(
      ${name}
      SOURCES ${arg_TESTS}
      LIBRARIES forebay_${name} ${arg_TEST_LIBRARIES}
      DEFINITIONS ${arg_TEST_DEFINITIONS})
  endif()
endfunction()

# forebay_parts(<name> [SOURCES <files>] [LIBRARIES <targets>] [TESTS <files>]
#               [TEST_DEFINITIONS <NAME=value>] [INSIDE])
#
# Creates the target <name>_parts, which adds SOURCES and LIBRARIES to a program or an extension of
# Python that links it, and their tests. Headers are included with the name of their directory, as
# in "tipsy/header.hpp". INSIDE permits private headers and symbols of the library (for bench and
# tools, not for apps and examples). What links such parts needs the property FOREBAY_PRIVATE.
function(forebay_parts name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "INSIDE" "" "SOURCES;LIBRARIES;TESTS;TEST_DEFINITIONS")
  forebay_reject_unparsed(forebay_parts "${arg_UNPARSED_ARGUMENTS}")
  add_library(${name}_needs INTERFACE)
  target_link_libraries(${name}_needs INTERFACE forebay_linked forebay_flags ${arg_LIBRARIES})
  target_include_directories(${name}_needs INTERFACE "${CMAKE_CURRENT_SOURCE_DIR}/..")
  if(arg_INSIDE)
    target_include_directories(${name}_needs INTERFACE "${PROJECT_SOURCE_DIR}/src")
  endif()
  add_library(${name}_parts INTERFACE)
  target_link_libraries(${name}_parts INTERFACE ${name}_needs)
  if(arg_SOURCES)
    add_library(${name}_objects OBJECT ${arg_SOURCES})
    target_link_libraries(${name}_objects PRIVATE ${name}_needs)
    set_target_properties(${name}_objects PROPERTIES FOREBAY_PRIVATE "${arg_INSIDE}")
    target_sources(${name}_parts INTERFACE $<TARGET_OBJECTS:${name}_objects>)
  endif()
  if(arg_TESTS)
    forebay_test(
      ${name}
      SOURCES ${arg_TESTS}
      LIBRARIES ${name}_parts
      DEFINITIONS ${arg_TEST_DEFINITIONS})
  endif()
endfunction()

# forebay_program(<name> MAIN <file> | ENTRY <namespace> [EXTRA] [arguments of forebay_parts()])
#
# Creates the program <name>, installed to libexec/forebay, where the command line finds it. SOURCES
# are shared with its tests, MAIN is not. With ENTRY, main() calls <namespace>::run_program(int
# count, char** words), which is in one of SOURCES and thus compiled together with them. `make
# build` omits an EXTRA program.
function(forebay_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "INSIDE;EXTRA" "MAIN;ENTRY" "")
  if(arg_INSIDE)
    list(APPEND arg_UNPARSED_ARGUMENTS INSIDE)
  endif()
  forebay_parts(${name} ${arg_UNPARSED_ARGUMENTS})
  if(arg_ENTRY)
    set(arg_MAIN "${CMAKE_CURRENT_BINARY_DIR}/${name}_main.cpp")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/program_main.cpp.in" "${arg_MAIN}" @ONLY)
  endif()
  add_executable(${name} ${arg_MAIN})
  target_link_libraries(${name} PRIVATE ${name}_parts)
  set_target_properties(
    ${name} PROPERTIES FOREBAY_PRIVATE "${arg_INSIDE}"
                       RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/libexec/forebay"
                       INSTALL_RPATH "${forebay_libexec_rpath}")
  set(options)
  if(forebay_part STREQUAL "bench")
    set(options EXCLUDE_FROM_ALL) # installed only by the name of the component
    add_dependencies(bench ${name})
  elseif(arg_EXTRA)
    if(FOREBAY_OPTIONAL_EXTRA)
      set(options OPTIONAL)
    endif()
    add_dependencies(product ${name})
  else()
    add_dependencies(forebay_core ${name})
  endif()
  install(
    TARGETS ${name}
    RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/forebay
    COMPONENT ${forebay_part} ${options})
endfunction()

# forebay_extension(<name> DIRECTORY <directory> DESTINATION <directory> DOMAIN <name>
#                   SOURCES <files> LIBRARIES <targets> RUN_PATH <directories>)
#
# Creates the extension module <name> of Python in DIRECTORY of the build tree, installed to
# DESTINATION with the product.
function(forebay_extension name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DIRECTORY;DESTINATION;DOMAIN"
                        "SOURCES;LIBRARIES;RUN_PATH")
  forebay_reject_unparsed(forebay_extension "${arg_UNPARSED_ARGUMENTS}")
  # Shares types and exceptions with the extensions of the same domain.
  nanobind_add_module(${name} NB_STATIC NB_DOMAIN ${arg_DOMAIN} NOMINSIZE NB_SUPPRESS_WARNINGS
                      ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PRIVATE forebay_flags ${arg_LIBRARIES})
  set_target_properties(
    ${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/${arg_DIRECTORY}"
                       INSTALL_RPATH "${arg_RUN_PATH}")
  install(TARGETS ${name} LIBRARY DESTINATION ${arg_DESTINATION})
  add_dependencies(forebay_core ${name})
endfunction()

# forebay_test_program(<name> SOURCES <files> [LIBRARIES <targets>])
#
# Creates the program <name>, which tests run, in the directory of all test programs. It may include
# the library's private headers.
function(forebay_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  forebay_reject_unparsed(forebay_test_program "${arg_UNPARSED_ARGUMENTS}")
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}/src")
  target_link_libraries(${name} PRIVATE forebay_flags ${arg_LIBRARIES} forebay_testing_bytes)
  # The tested code is in the libraries. Tests compile in half the time without optimization.
  target_compile_options(${name} PRIVATE -O0)
  set_target_properties(
    ${name} PROPERTIES FOREBAY_PRIVATE ON RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  add_dependencies(${forebay_part}_tests ${name})
endfunction()

# forebay_test(<name> SOURCES <files> [LIBRARIES <targets>] [DEFINITIONS <NAME=value>])
#
# Creates the GoogleTest program test_<name>. ctest runs its cases in FOREBAY_TEST_SHARDS processes,
# under the label <name>, with an empty profile. Each process writes the result of each case to
# tests/results/<name>.shard_<n>.xml. Creates nothing if FOREBAY_TESTS is off.
function(forebay_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES;DEFINITIONS")
  forebay_reject_unparsed(forebay_test "${arg_UNPARSED_ARGUMENTS}")
  if(NOT FOREBAY_TESTS)
    return()
  endif()
  forebay_test_program(
    test_${name}
    SOURCES ${arg_SOURCES}
    LIBRARIES forebay_linked ${arg_LIBRARIES} GTest::gmock GTest::gtest_main)
  target_compile_definitions(test_${name} PRIVATE ${arg_DEFINITIONS})
  forebay_shards(${name} PROGRAM test_${name} LABEL ${name})
endfunction()

# forebay_shards(<name> PROGRAM <target> LABEL <word> [FILTER <gtest filter>]
#                [ENVIRONMENT <NAME=value>])
#
# Registers the cases of a GoogleTest program as the tests <name>.shard_<n>, which share them.
function(forebay_shards name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PROGRAM;LABEL;FILTER" "ENVIRONMENT")
  forebay_reject_unparsed(forebay_shards "${arg_UNPARSED_ARGUMENTS}")
  if(NOT arg_FILTER)
    set(arg_FILTER "*")
  endif()
  math(EXPR last "${FOREBAY_TEST_SHARDS} - 1")
  foreach(shard RANGE ${last})
    set(case ${name}.shard_${shard})
    add_test(NAME ${case} COMMAND ${arg_PROGRAM} "--gtest_filter=${arg_FILTER}")
    set(environment
        FOREBAY_PROFILE=
        GTEST_TOTAL_SHARDS=${FOREBAY_TEST_SHARDS}
        GTEST_SHARD_INDEX=${shard}
        "GTEST_OUTPUT=xml:${PROJECT_BINARY_DIR}/tests/results/${case}.xml"
        ${arg_ENVIRONMENT})
    set_tests_properties(
      ${case}
      PROPERTIES LABELS "${arg_LABEL};${forebay_part}"
                 TIMEOUT 900
                 ENVIRONMENT "${environment}")
  endforeach()
endfunction()

# Fails on a misspelled keyword, which would otherwise drop its values.
function(forebay_reject_unparsed function_name unparsed)
  if(unparsed)
    message(FATAL_ERROR "${function_name}: unknown arguments: ${unparsed}")
  endif()
endfunction()

# Programs find the library relative to their own path, so an installed tree can be moved.
file(RELATIVE_PATH forebay_lib_from_libexec "/${CMAKE_INSTALL_LIBEXECDIR}/forebay"
     "/${CMAKE_INSTALL_LIBDIR}")
set(forebay_libexec_rpath "$ORIGIN/${forebay_lib_from_libexec}")

# The library, or a program that contains it, finds machine files relative to its own path.
set(machines "/${CMAKE_INSTALL_DATADIR}/forebay/machines")
file(RELATIVE_PATH forebay_machines_from_lib "/${CMAKE_INSTALL_LIBDIR}" "${machines}")
file(RELATIVE_PATH forebay_machines_from_program "/${CMAKE_INSTALL_LIBEXECDIR}/forebay"
     "${machines}")
