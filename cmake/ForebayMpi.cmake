# SPDX-License-Identifier: Apache-2.0
#
# Finds the MPI once, and defines how a test is started on several ranks. Compiler and launcher are
# always named together: if two MPIs are installed, `mpicxx` and `mpiexec` alone are ambiguous. A
# program started by the launcher of the other MPI runs as separate worlds of one rank.
#
# The MPI part is left out if the compiler is not named or does not exist.
set(FOREBAY_MPI_COMPILER
    ""
    CACHE STRING "C++ compiler of the MPI to build libforebay_mpi with; empty for none.")
set(FOREBAY_MPI_LAUNCHER
    ""
    CACHE STRING "Launcher of that MPI, with the options that every run needs, as a list.")
set(FOREBAY_MPI_LIBRARY
    ""
    CACHE STRING "Beginning of that MPI's library version, which tests compare.")

option(FOREBAY_MPI_LARGEST "Run each MPI test only on its largest number of ranks." OFF)

set(FOREBAY_MPI_FOUND FALSE)
if(FOREBAY_MPI_COMPILER)
  find_program(FOREBAY_MPI_COMPILER_PATH "${FOREBAY_MPI_COMPILER}")
  mark_as_advanced(FOREBAY_MPI_COMPILER_PATH)
  if(FOREBAY_MPI_COMPILER_PATH)
    set(MPI_CXX_COMPILER "${FOREBAY_MPI_COMPILER_PATH}")
    set(MPI_CXX_SKIP_MPICXX TRUE)
    find_package(MPI 3.0 REQUIRED COMPONENTS CXX)
    # The wrapper would put its directory before Forebay's in the run path of every program. An
    # installed copy elsewhere would then find the first installation. So installed targets have
    # that directory last.
    set_property(TARGET MPI::MPI_CXX PROPERTY INTERFACE_LINK_OPTIONS "")
    list(GET MPI_CXX_LIBRARIES 0 forebay_mpi_library)
    get_filename_component(forebay_mpi_library_dir "${forebay_mpi_library}" DIRECTORY)
    include(forebayMpiLibrary)
    forebay_identify_mpi(forebay_mpi)
    message(STATUS "libforebay_mpi is built with ${forebay_mpi_name} ${forebay_mpi_version}")
    set(FOREBAY_MPI_FOUND TRUE)
  endif()
endif()
if(NOT FOREBAY_MPI_FOUND)
  message(STATUS "No MPI (FOREBAY_MPI_COMPILER is '${FOREBAY_MPI_COMPILER}'): "
                 "libforebay_mpi and its tests are left out")
  return()
endif()

# Programs of this build find the MPI with which they were built, in any location.
add_library(forebay_mpi_interface INTERFACE)
target_link_libraries(forebay_mpi_interface INTERFACE MPI::MPI_CXX)

add_custom_target(mpi_tests)

# Waiting ranks yield the core to working ones, and Open MPI does not warn about missing hardware.
# No test depends on the user's profile.
set(forebay_mpi_environment
    FOREBAY_PROFILE=
    MPIR_CVAR_POLLS_BEFORE_YIELD=10
    OMPI_MCA_mpi_yield_when_idle=1
    OMPI_MCA_btl_base_warn_component_unused=0
    OMPI_MCA_btl_vader_single_copy_mechanism=none
    OMPI_MCA_osc=^ucx)

# forebay_mpi_program(<name> SOURCES <files> [LIBRARIES <targets>])
#
# Creates the GoogleTest program test_<name>, which initializes MPI (tests/mpi/main.cpp). Creates
# nothing if FOREBAY_TESTS is off.
function(forebay_mpi_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  forebay_reject_unparsed(forebay_mpi_program "${arg_UNPARSED_ARGUMENTS}")
  if(NOT FOREBAY_TESTS)
    return()
  endif()
  forebay_test_program(
    test_${name}
    SOURCES ${arg_SOURCES} "${PROJECT_SOURCE_DIR}/tests/mpi/main.cpp"
    LIBRARIES forebay_mpi_linked ${arg_LIBRARIES} GTest::gmock GTest::gtest)
  add_dependencies(mpi_tests test_${name})
endfunction()

# forebay_mpi_run(<program> <name> [RANKS <counts>] [MORE_RANKS <counts>] [LIMIT_S <seconds>]
#                 [ARGUMENTS <words>])
#
# For each count, adds the test <name>.ranks_<count> with the labels mpi and <name>: test_<program>
# with ARGUMENTS. Tests of MORE_RANKS also have the label long, which `make test` leaves out. A test
# fails if a rank fails, if the number of ranks differs, or if the library is not
# FOREBAY_MPI_LIBRARY. If FOREBAY_MPI_LARGEST is on, only the largest count is added.
function(forebay_mpi_run program name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "LIMIT_S" "RANKS;MORE_RANKS;ARGUMENTS")
  forebay_reject_unparsed(forebay_mpi_run "${arg_UNPARSED_ARGUMENTS}")
  if(NOT FOREBAY_TESTS)
    return()
  endif()
  if(NOT arg_LIMIT_S)
    set(arg_LIMIT_S 120)
  endif()
  set(counts ${arg_RANKS} ${arg_MORE_RANKS})
  if(FOREBAY_MPI_LARGEST)
    list(SORT counts COMPARE NATURAL)
    list(GET counts -1 counts)
  endif()
  math(EXPR ctest_limit_s "${arg_LIMIT_S} + 30")
  foreach(ranks IN LISTS counts)
    # Ranks that wait for each other leave a core idle, on which a shard of other tests can run.
    set(slots ${ranks})
    if(slots GREATER 3)
      set(slots 3)
    endif()
    set(labels mpi ${name} ${forebay_part})
    if(ranks IN_LIST arg_MORE_RANKS)
      list(APPEND labels long)
    endif()
    # A launcher may survive SIGTERM; only SIGKILL is certain.
    add_test(
      NAME ${name}.ranks_${ranks}
      COMMAND timeout -k 10 ${arg_LIMIT_S} ${FOREBAY_MPI_LAUNCHER} -n ${ranks}
              $<TARGET_FILE:test_${program}> --ranks=${ranks} "--library=${FOREBAY_MPI_LIBRARY}"
              ${arg_ARGUMENTS})
    set_tests_properties(
      ${name}.ranks_${ranks}
      PROPERTIES LABELS "${labels}"
                 TIMEOUT ${ctest_limit_s}
                 PROCESSORS ${slots}
                 ENVIRONMENT "${forebay_mpi_environment}")
  endforeach()
endfunction()

# forebay_hosts_run(<program> <name> [RANKS_PER_HOST <counts>] [RATE_MBYTE <limit>]
#                   [LIMIT_S <seconds>] [ARGUMENTS <words>])
#
# For each count, adds the test <name>.hosts_2x<count> with the labels mpi, hosts and <name>:
# test_<program> on two hosts with <count> ranks each (tools/hosts/two_hosts.py). RATE_MBYTE limits
# the rate of the link between them, in 10^6 bytes a second. The test runs alone on the machine, as
# its results depend on time. It is skipped, with the reason, if hosts cannot be created.
function(forebay_hosts_run program name)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "RATE_MBYTE;LIMIT_S" "RANKS_PER_HOST;ARGUMENTS")
  forebay_reject_unparsed(forebay_hosts_run "${arg_UNPARSED_ARGUMENTS}")
  if(NOT FOREBAY_TESTS)
    return()
  endif()
  if(NOT arg_RANKS_PER_HOST)
    set(arg_RANKS_PER_HOST 1)
  endif()
  if(NOT arg_LIMIT_S)
    set(arg_LIMIT_S 120)
  endif()
  set(rate)
  if(arg_RATE_MBYTE)
    set(rate --rate-mbyte ${arg_RATE_MBYTE})
  endif()
  math(EXPR ctest_limit_s "${arg_LIMIT_S} + 30")
  foreach(count IN LISTS arg_RANKS_PER_HOST)
    math(EXPR ranks "2 * ${count}")
    add_test(
      NAME ${name}.hosts_2x${count}
      COMMAND timeout -k 10 ${arg_LIMIT_S} "${PROJECT_SOURCE_DIR}/tools/hosts/two_hosts.py"
              --library "${FOREBAY_MPI_LIBRARY}" --ranks-per-host ${count} ${rate}
              -- ${FOREBAY_MPI_LAUNCHER} : $<TARGET_FILE:test_${program}> --ranks=${ranks}
              "--library=${FOREBAY_MPI_LIBRARY}" ${arg_ARGUMENTS})
    set_tests_properties(
      ${name}.hosts_2x${count}
      PROPERTIES LABELS "mpi;hosts;${name};${forebay_part}"
                 TIMEOUT ${ctest_limit_s}
                 RUN_SERIAL TRUE
                 SKIP_RETURN_CODE 77
                 ENVIRONMENT "${forebay_mpi_environment}")
  endforeach()
endfunction()
