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

configure_package_config_file(
  cmake/forebayConfig.cmake.in "${PROJECT_BINARY_DIR}/forebayConfig.cmake"
  INSTALL_DESTINATION ${forebay_config_dir} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/forebayConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/forebayConfig.cmake"
              "${PROJECT_BINARY_DIR}/forebayConfigVersion.cmake" DESTINATION ${forebay_config_dir})
