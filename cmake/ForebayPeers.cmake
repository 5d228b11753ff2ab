# SPDX-License-Identifier: Apache-2.0
#
# The libraries that kernels compare with: forebay_peer_adios2, forebay_peer_hdf5,
# forebay_peer_pnetcdf, forebay_peer_adios1. ADIOS2 and HDF5 are used if their prefixes are named.
# Debian builds all but ADIOS2 for Open MPI, so these are searched in that preset only. A missing
# library is left out, and the configure step reports its Debian package.
set(FOREBAY_ADIOS2
    ""
    CACHE PATH "Prefix of an ADIOS2 for `forebay kernel`, built with the same MPI; empty for none.")
if(FOREBAY_ADIOS2 AND FOREBAY_MPI_FOUND)
  # The wheel of PyPI has its files in another place than an installation.
  find_package(ADIOS2 2.9 REQUIRED CONFIG COMPONENTS C PATHS "${FOREBAY_ADIOS2}" PATH_SUFFIXES
               cmake/adios2 lib/cmake/adios2 NO_DEFAULT_PATH)
  add_library(forebay_peer_adios2 INTERFACE)
  if(TARGET adios2::c_mpi)
    target_link_libraries(forebay_peer_adios2 INTERFACE adios2::c_mpi)
  else()
    target_link_libraries(forebay_peer_adios2 INTERFACE adios2::c)
    # The libraries of the wheel find each other only when they are loaded.
    target_link_options(forebay_peer_adios2 INTERFACE LINKER:--allow-shlib-undefined)
  endif()
endif()

set(FOREBAY_HDF5
    ""
    CACHE PATH "Prefix of an HDF5 for `forebay kernel`, built with the same MPI; empty for none.")
if(FOREBAY_HDF5 AND FOREBAY_MPI_FOUND)
  # Its configuration searches an MPI for C: this must be the same MPI.
  string(REGEX REPLACE "mpicxx" "mpicc" MPI_C_COMPILER "${FOREBAY_MPI_COMPILER_PATH}")
  find_package(HDF5 REQUIRED CONFIG COMPONENTS C PATHS "${FOREBAY_HDF5}" PATH_SUFFIXES
               cmake lib/cmake NO_DEFAULT_PATH)
  if(NOT HDF5_PROVIDES_PARALLEL AND NOT HDF5_ENABLE_PARALLEL)
    message(FATAL_ERROR "FOREBAY_HDF5: ${FOREBAY_HDF5} was built without MPI")
  endif()
  set(hdf5_target hdf5-static)
  if(TARGET hdf5-shared)
    set(hdf5_target hdf5-shared)
  endif()
  # It would define _GNU_SOURCE for programs.
  set_property(TARGET ${hdf5_target} PROPERTY INTERFACE_COMPILE_DEFINITIONS "")
  # Its search for MPI has set these again; ForebayMpi.cmake has the reason.
  set_property(TARGET MPI::MPI_C MPI::MPI_CXX PROPERTY INTERFACE_LINK_OPTIONS "")
  add_library(forebay_peer_hdf5 INTERFACE)
  target_link_libraries(forebay_peer_hdf5 INTERFACE ${hdf5_target})
endif()

if(NOT FOREBAY_MPI_LIBRARY STREQUAL "Open MPI" OR NOT FOREBAY_MPI_FOUND)
  return()
endif()

foreach(peer "hdf5:hdf5-openmpi:libhdf5-openmpi-dev" "pnetcdf:pnetcdf:libpnetcdf-dev")
  string(REPLACE ":" ";" peer "${peer}")
  list(GET peer 0 name)
  list(GET peer 1 module)
  list(GET peer 2 package)
  if(TARGET forebay_peer_${name})
    continue()
  endif()
  pkg_check_modules(${name}_openmpi IMPORTED_TARGET ${module})
  if(TARGET PkgConfig::${name}_openmpi)
    add_library(forebay_peer_${name} INTERFACE)
    target_link_libraries(forebay_peer_${name} INTERFACE PkgConfig::${name}_openmpi)
  else()
    message(STATUS "Left out, as not found: ${name} (Debian: ${package})")
  endif()
endforeach()

# A static library, so its dependencies must be named too.
find_library(FOREBAY_ADIOS1_LIBRARY adios PATH_SUFFIXES adios/openmpi)
find_path(FOREBAY_ADIOS1_INCLUDE adios.h)
mark_as_advanced(FOREBAY_ADIOS1_LIBRARY FOREBAY_ADIOS1_INCLUDE)
set(adios1_libraries ${FOREBAY_ADIOS1_LIBRARY})
set(adios1_missing)
if(NOT FOREBAY_ADIOS1_LIBRARY OR NOT FOREBAY_ADIOS1_INCLUDE)
  list(APPEND adios1_missing libadios-openmpi-dev)
endif()
foreach(need blosc:libblosc-dev lz4:liblz4-dev bz2:libbz2-dev sz:libaec-dev z:zlib1g-dev)
  string(REPLACE ":" ";" need "${need}")
  list(GET need 0 library)
  list(GET need 1 package)
  find_library(FOREBAY_ADIOS1_NEEDS_${library} ${library})
  mark_as_advanced(FOREBAY_ADIOS1_NEEDS_${library})
  if(FOREBAY_ADIOS1_NEEDS_${library})
    list(APPEND adios1_libraries ${FOREBAY_ADIOS1_NEEDS_${library}})
  else()
    list(APPEND adios1_missing ${package})
  endif()
endforeach()
# Its methods for HDF5 and NetCDF are never called, but the symbols of HDF5 must exist.
if(NOT TARGET PkgConfig::hdf5_openmpi)
  list(APPEND adios1_missing libhdf5-openmpi-dev)
endif()
if(adios1_missing)
  list(JOIN adios1_missing " " adios1_missing)
  message(STATUS "Left out, as not found: ADIOS 1.13 (Debian: ${adios1_missing})")
else()
  add_library(forebay_peer_adios1 INTERFACE)
  target_include_directories(forebay_peer_adios1 SYSTEM INTERFACE ${FOREBAY_ADIOS1_INCLUDE})
  target_link_libraries(forebay_peer_adios1 INTERFACE ${adios1_libraries} PkgConfig::hdf5_openmpi)
  # The symbols of NetCDF are set to 0. That needs no NetCDF, and a call would crash.
  foreach(
    symbol
    close
    create_par
    def_dim
    def_var
    get_var
    get_vara
    inq_dimid
    inq_dimlen
    inq_varid
    open_par
    put_var
    put_vara
    sync
    var_par_access)
    target_link_options(forebay_peer_adios1 INTERFACE "LINKER:--defsym=nc_${symbol}=0")
  endforeach()
endif()
