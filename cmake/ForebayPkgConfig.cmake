# SPDX-License-Identifier: Apache-2.0
#
# Files by which pkg-config finds the installed library. Its public headers need tl::expected, so
# that has an option unless the compiler searches its directory anyway.
set(forebay_pkgconfig_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH forebay_prefix_from_pkgconfig "/${forebay_pkgconfig_dir}" "/")
string(REGEX REPLACE "/$" "" forebay_prefix_from_pkgconfig "${forebay_prefix_from_pkgconfig}")

set(forebay_pc_expected)
get_target_property(expected_directories tl::expected INTERFACE_INCLUDE_DIRECTORIES)
foreach(directory IN LISTS expected_directories)
  if(EXISTS "${directory}" AND NOT directory IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    string(APPEND forebay_pc_expected " -I${directory}")
  endif()
endforeach()

set(forebay_pc_files forebay.pc)
if(FOREBAY_MPI_FOUND)
  list(APPEND forebay_pc_files forebay-mpi.pc)
endif()
if(FOREBAY_FORTRAN_FOUND)
  list(APPEND forebay_pc_files forebay-fortran.pc)
endif()
foreach(file IN LISTS forebay_pc_files)
  configure_file("cmake/${file}.in" "${PROJECT_BINARY_DIR}/${file}" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${file}" DESTINATION ${forebay_pkgconfig_dir})
endforeach()
