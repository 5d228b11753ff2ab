# SPDX-License-Identifier: Apache-2.0
#
# The libraries that `bench checkpoint` compares with. Debian builds all of them for Open MPI, so
# they are searched in that preset only. A missing library is left out, and the configure step
# reports its Debian package.
#
# Appends to forebay_checkpoint_candidates and forebay_checkpoint_peers.
set(forebay_checkpoint_left_out "bench checkpoint: left out, as not found:")

pkg_check_modules(hdf5_openmpi IMPORTED_TARGET hdf5-openmpi)
if(TARGET PkgConfig::hdf5_openmpi)
  list(APPEND forebay_checkpoint_candidates candidates/pmpio.cpp candidates/hdf5.cpp
       candidates/hdf5_handle.cpp)
  list(APPEND forebay_checkpoint_peers PkgConfig::hdf5_openmpi)
else()
  message(STATUS "${forebay_checkpoint_left_out} parallel HDF5 (Debian: libhdf5-openmpi-dev)")
endif()

pkg_check_modules(pnetcdf IMPORTED_TARGET pnetcdf)
if(TARGET PkgConfig::pnetcdf)
  list(APPEND forebay_checkpoint_candidates candidates/pnetcdf.cpp)
  list(APPEND forebay_checkpoint_peers PkgConfig::pnetcdf)
else()
  message(STATUS "${forebay_checkpoint_left_out} PnetCDF (Debian: libpnetcdf-dev)")
endif()

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
  message(STATUS "${forebay_checkpoint_left_out} ADIOS 1.13 (Debian: ${adios1_missing})")
else()
  add_library(forebay_adios1 INTERFACE)
  target_include_directories(forebay_adios1 SYSTEM INTERFACE ${FOREBAY_ADIOS1_INCLUDE})
  target_link_libraries(forebay_adios1 INTERFACE ${adios1_libraries} PkgConfig::hdf5_openmpi)
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
    target_link_options(forebay_adios1 INTERFACE "LINKER:--defsym=nc_${symbol}=0")
  endforeach()
  list(APPEND forebay_checkpoint_candidates candidates/adios1.cpp)
  list(APPEND forebay_checkpoint_peers forebay_adios1)
endif()
