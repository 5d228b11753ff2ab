# SPDX-License-Identifier: Apache-2.0
#
# Finds a Fortran compiler, which is optional, and sets FOREBAY_FORTRAN_FOUND. Programs in Fortran
# cannot start a library that was built with sanitizers.
include(CheckLanguage)
set(FOREBAY_FORTRAN_FOUND OFF)
if(NOT FOREBAY_SANITIZE)
  check_language(Fortran)
  if(CMAKE_Fortran_COMPILER)
    enable_language(Fortran)
    set(FOREBAY_FORTRAN_FOUND ON)
  endif()
endif()
