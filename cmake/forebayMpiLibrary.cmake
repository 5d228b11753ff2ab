# SPDX-License-Identifier: Apache-2.0
#
# Identifies an MPI by name. Included by the build and, installed beside forebayConfig.cmake, by
# projects that find Forebay: a library built with one MPI does not work with another.

# forebay_identify_mpi(<prefix>)
#
# Identifies the MPI that find_package(MPI COMPONENTS CXX) has found. Sets <prefix>_name to
# Intel MPI, MPICH, Open MPI or "an unknown MPI", <prefix>_version, which may be empty, and
# <prefix>_header to its mpi.h. Reads macros of that file and runs no program, so it also works in a
# cross build.
function(forebay_identify_mpi prefix)
  set(found_name "an unknown MPI")
  set(found_version "")
  set(found_header "no mpi.h")
  set(header "")
  foreach(directory IN LISTS MPI_CXX_INCLUDE_DIRS CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    if(EXISTS "${directory}/mpi.h")
      set(found_header "${directory}/mpi.h")
      file(READ "${found_header}" header)
      break()
    endif()
  endforeach()
  set(define "#[ \t]*define[ \t]+")
  # MPICH is last: an MPI derived from it may define its macro, too.
  if("${header}" MATCHES "${define}I_MPI_VERSION[ \t]+\"([^\"]*)\"")
    set(found_name "Intel MPI")
    set(found_version "${CMAKE_MATCH_1}")
  elseif("${header}" MATCHES "${define}OMPI_MAJOR_VERSION[ \t]+([0-9]+)")
    set(found_name "Open MPI")
    set(found_version "${CMAKE_MATCH_1}")
    foreach(macro OMPI_MINOR_VERSION OMPI_RELEASE_VERSION)
      if("${header}" MATCHES "${define}${macro}[ \t]+([0-9]+)")
        string(APPEND found_version ".${CMAKE_MATCH_1}")
      endif()
    endforeach()
  elseif("${header}" MATCHES "${define}MPICH_VERSION[ \t]+\"([^\"]*)\"")
    set(found_name "MPICH")
    set(found_version "${CMAKE_MATCH_1}")
  endif()
  foreach(part name version header)
    set(${prefix}_${part} "${found_${part}}" PARENT_SCOPE)
  endforeach()
endfunction()
