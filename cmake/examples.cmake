# SPDX-License-Identifier: Apache-2.0
#
# Builds the installed examples against the installed library; installed beside them as
# CMakeLists.txt.
#
#   cmake -S share/doc/forebay/examples -B build -DCMAKE_PREFIX_PATH=<prefix>
cmake_minimum_required(VERSION 3.25)
project(forebay_examples LANGUAGES C CXX)

find_package(forebay REQUIRED OPTIONAL_COMPONENTS mpi)

file(GLOB examples RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" "*.cpp")
set(mpi_examples dedicated_ranks.cpp)
foreach(source IN LISTS examples)
  cmake_path(GET source STEM name)
  if(NOT source IN_LIST mpi_examples)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE forebay::forebay)
  elseif(forebay_mpi_FOUND)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE forebay::mpi)
  endif()
endforeach()
include(CheckLanguage)
check_language(Fortran)
if(CMAKE_Fortran_COMPILER AND TARGET forebay::fortran)
  enable_language(Fortran)
  file(GLOB examples RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" "*.f90")
  foreach(source IN LISTS examples)
    cmake_path(GET source STEM name)
    add_executable(${name} ${source})
    target_link_libraries(${name} PRIVATE forebay::fortran)
  endforeach()
endif()
file(GLOB examples RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" "*.c")
foreach(source IN LISTS examples)
  cmake_path(GET source STEM name)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE forebay::c)
  set_target_properties(${name} PROPERTIES C_STANDARD 11)
endforeach()
