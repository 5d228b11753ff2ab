# SPDX-License-Identifier: Apache-2.0
#
# What an installed Forebay consists of, so that find_package(forebay) works for a user who has
# none of the library's private dependencies.
include(CMakePackageConfigHelpers)

set(forebay_config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/forebay")

install(TARGETS forebay EXPORT forebayTargets)
install(DIRECTORY include/forebay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(
  EXPORT forebayTargets
  NAMESPACE forebay::
  DESTINATION ${forebay_config_dir})

# A component of its own: who does not ask for it needs no MPI.
if(FOREBAY_MPI_FOUND)
  set_target_properties(forebay_mpi PROPERTIES EXPORT_NAME mpi INSTALL_RPATH
                                               "$ORIGIN;${forebay_mpi_library_dir}")
  set_target_properties(forebay_mpi_interface PROPERTIES EXPORT_NAME mpi_interface)
  install(TARGETS forebay_mpi forebay_mpi_interface EXPORT forebayMpiTargets)
  install(
    EXPORT forebayMpiTargets
    NAMESPACE forebay::
    DESTINATION ${forebay_config_dir})
endif()

configure_package_config_file(
  cmake/forebayConfig.cmake.in "${PROJECT_BINARY_DIR}/forebayConfig.cmake"
  INSTALL_DESTINATION ${forebay_config_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/forebayConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/forebayConfig.cmake"
              "${PROJECT_BINARY_DIR}/forebayConfigVersion.cmake" DESTINATION ${forebay_config_dir})
