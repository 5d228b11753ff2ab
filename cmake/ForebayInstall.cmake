# SPDX-License-Identifier: Apache-2.0
#
# The content of an installed Forebay, with which find_package(forebay) works without the library's
# private dependencies.
include(CMakePackageConfigHelpers)

set(forebay_config_dir "${CMAKE_INSTALL_LIBDIR}/cmake/forebay")

install(TARGETS forebay EXPORT forebayTargets)
install(FILES include/forebay.h include/forebay_mpi.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY include/forebay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(
  EXPORT forebayTargets
  NAMESPACE forebay::
  DESTINATION ${forebay_config_dir})

# A separate component: a project that does not request it needs no MPI.
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
                                 COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/forebayConfig.cmake"
              "${PROJECT_BINARY_DIR}/forebayConfigVersion.cmake" cmake/forebayMpiLibrary.cmake
        DESTINATION ${forebay_config_dir})
