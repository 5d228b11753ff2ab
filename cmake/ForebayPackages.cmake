# SPDX-License-Identifier: Apache-2.0
#
# Debian packages, made by cpack:
#
#   cmake --preset debian && cmake --build --preset debian && cpack --preset debian
#
# A package is a set of paths of the installed tree, so a rule of installation names none.
# stage_packages.cmake installs everything and gives each file to one package. cpack then runs each
# package as a component, and dpkg-shlibdeps finds the libraries that it needs.
if(NOT PROJECT_IS_TOP_LEVEL OR NOT FOREBAY_TOOLS)
  return()
endif()

set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "Forebay maintainers <maintainers@forebay.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGE_FILE_NAME "forebay-${PROJECT_VERSION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_COMMANDS
    "\"${CMAKE_COMMAND}\" -P \"${PROJECT_BINARY_DIR}/packages/stage_packages.cmake\"")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/lib")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_COMPONENTS_ALL)
set(forebay_package_rules)
set(scripts "${PROJECT_SOURCE_DIR}/packaging/debian")

# The lines with which each description begins.
string(CONCAT about "Forebay reads files from thousands of tasks at the bandwidth of the storage.\n"
              "It writes checkpoints while the program computes.")

# forebay_package(<name> SECTION <section> SUMMARY <line> TEXT <line> FILES <regex>
#                 [SAME_VERSION <packages>] [DEPENDS <packages>] [RECOMMENDS <packages>] [ALL])
#
# Defines the package <name>. Its files are those of the installed tree whose path below the prefix
# matches FILES and which no earlier package has. It needs SAME_VERSION in its own version. ALL: one
# package for all architectures.
macro(forebay_package name)
  cmake_parse_arguments(arg "ALL" "SECTION;SUMMARY;TEXT;FILES" "SAME_VERSION;DEPENDS;RECOMMENDS"
                        ${ARGN})
  forebay_reject_unparsed(forebay_package "${arg_UNPARSED_ARGUMENTS}")
  list(APPEND CPACK_COMPONENTS_ALL ${name})
  list(APPEND forebay_package_rules "${name}=${arg_FILES}")
  list(TRANSFORM arg_SAME_VERSION APPEND " (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE})")
  string(TOUPPER "CPACK_DEBIAN_${name}" variable)
  set(${variable}_DESCRIPTION "${arg_SUMMARY}\n${about}\n${arg_TEXT}")
  set(${variable}_PACKAGE_NAME ${name})
  set(${variable}_PACKAGE_SECTION ${arg_SECTION})
  set(packages ${arg_SAME_VERSION} ${arg_DEPENDS})
  list(JOIN packages ", " ${variable}_PACKAGE_DEPENDS)
  list(JOIN arg_RECOMMENDS ", " ${variable}_PACKAGE_RECOMMENDS)
  if(arg_ALL)
    set(${variable}_PACKAGE_ARCHITECTURE all)
    set(${variable}_PACKAGE_SHLIBDEPS OFF)
  endif()
  if("${arg_SECTION}" STREQUAL "libs")
    set(${variable}_PACKAGE_CONTROL_EXTRA "${scripts}/triggers")
  endif()
  install(
    DIRECTORY "${PROJECT_BINARY_DIR}/packages/${name}/"
    DESTINATION .
    USE_SOURCE_PERMISSIONS
    COMPONENT ${name}
    EXCLUDE_FROM_ALL)
endmacro()

set(lib "${CMAKE_INSTALL_LIBDIR}")
set(library libforebay${PROJECT_VERSION_MAJOR})
if(FOREBAY_MPI_FOUND)
  # A library for the ranks of one MPI works with no other, so the packages have its name.
  string(TOLOWER "${forebay_mpi_name}" mpi)
  string(REPLACE " " "" mpi "${mpi}")
  set(launcher ${mpi})
  if(mpi STREQUAL "openmpi")
    set(launcher openmpi-bin)
  endif()
  forebay_package(
    libforebay-${mpi}${PROJECT_VERSION_MAJOR}
    SECTION libs
    SUMMARY "parallel storage I/O for tasks, library for ranks of ${forebay_mpi_name}"
    TEXT "This package has the library for the ranks of a job."
    SAME_VERSION ${library}
    FILES "^${lib}/libforebay_mpi[.]so[.]")
  forebay_package(
    libforebay-${mpi}-dev
    SECTION libdevel
    SUMMARY "parallel storage I/O for tasks, development files for ${forebay_mpi_name}"
    TEXT "This package has the header for ranks, and the component mpi for CMake."
    SAME_VERSION libforebay-${mpi}${PROJECT_VERSION_MAJOR} libforebay-dev
    DEPENDS lib${mpi}-dev
    FILES "^${lib}/.*(_mpi[.]so|MpiTargets.*[.]cmake|-mpi[.]pc)$|^include/.*mpi[.]h(pp)?$")
  forebay_package(
    forebay-${mpi}
    SECTION science
    SUMMARY "parallel storage I/O for tasks, programs on ranks of ${forebay_mpi_name}"
    TEXT "This package has the programs that the command starts on several ranks."
    SAME_VERSION forebay libforebay-${mpi}${PROJECT_VERSION_MAJOR}
    DEPENDS ${launcher}
    FILES "^libexec/.*-mpi$")
  set(for_ranks forebay-${mpi})
endif()
forebay_package(
  ${library}
  SECTION libs
  SUMMARY "parallel storage I/O for tasks, library"
  TEXT "This package has the library. It needs no MPI."
  SAME_VERSION forebay-common
  FILES "^${lib}/libforebay[.]so[.]")
forebay_package(
  libforebay-dev
  SECTION libdevel
  SUMMARY "parallel storage I/O for tasks, development files"
  TEXT "This package has the headers, modules of Fortran, and files for CMake and pkg-config."
  SAME_VERSION ${library}
  DEPENDS libexpected-dev
  FILES "^include/|^${lib}/(libforebay[^/]*[.](so|a)$|cmake/|pkgconfig/)|(^|/)forebay/fortran/")
forebay_package(
  forebay-hdf5
  SECTION science
  SUMMARY "parallel storage I/O for tasks, file driver for HDF5"
  TEXT "This package has the file driver that programs with HDF5 load."
  SAME_VERSION ${library}
  FILES "^${lib}/forebay/hdf5/")
forebay_package(
  forebay-common ALL
  SECTION science
  SUMMARY "parallel storage I/O for tasks, descriptions of machines"
  TEXT "This package has the descriptions of parallel storage that plans are made for."
  FILES "^share/forebay/machines/")
forebay_package(
  forebay-doc ALL
  SECTION doc
  SUMMARY "parallel storage I/O for tasks, guides and examples"
  TEXT "This package has the guides, the descriptions of formats, and the examples."
  FILES "^share/doc/")
# The last one takes all files that are left. Its extension module is for one version of Python.
set(python ${Python_VERSION_MAJOR}.${Python_VERSION_MINOR})
math(EXPR next_python "${Python_VERSION_MINOR} + 1")
forebay_package(
  forebay
  SECTION science
  SUMMARY "parallel storage I/O for tasks, command"
  TEXT "This package has the command forebay, with its programs and completions."
  SAME_VERSION ${library} forebay-common
  DEPENDS "python3 (>= ${python})" "python3 (<< ${Python_VERSION_MAJOR}.${next_python})"
          "python3-click (>= 8.1)" "python3-matplotlib (>= 3.6)"
          "python3-numpy (>= 1:1.24)" "python3-rich (>= 13)"
  RECOMMENDS python3-h5py python3-jinja2 python3-scipy forebay-hdf5 ${for_ranks}
  FILES ".")

# Modules of Python are compiled where they are installed, as for all packages of Debian.
set(CPACK_DEBIAN_FOREBAY_PACKAGE_CONTROL_EXTRA "${scripts}/postinst" "${scripts}/prerm")
configure_file(cmake/stage_packages.cmake.in "${PROJECT_BINARY_DIR}/packages/stage_packages.cmake"
               @ONLY)
include(CPack)
