! SPDX-License-Identifier: Apache-2.0
!> Forebay for Fortran: read sessions and datasets over the C interface. docs/guides/fortran.md
!> introduces it; <forebay.h> has the contract of each function below.
!>
!> Rules:
!> - Arrays may have any rank from 0 to 15, and integers of 8 to 64 bits, reals and
!>   complex numbers of 32 and 64 bits, and logical(c_bool). put() and read() of datasets access
!>   sections with strides in place. Characters are attributes only. Integers also read the bits of
!>   unsigned fields and attributes of their size.
!> - Datasets have the dimensions in reverse order, as those of the Fortran interface of HDF5: an
!>   array a(nx, ny) is a field of shape (ny, nx) for C, C++ and Python.
!> - Starts count from 0, as those of MPI_Type_create_subarray() and H5Sselect_hyperslab_f().
!>   Numbers of elements, bytes, steps and parts are integer(int64).
!> - Each procedure has the optional arguments stat and errmsg. stat is 0 or the class of the
!>   failure (forebay_not_found, ...). Without stat, a failure is printed and ends the program.
!> - A procedure with the optional argument `request` returns at once. Its array must have the
!>   attribute ASYNCHRONOUS or TARGET, and must stay until request%wait(). Without it, it blocks.
!> - Handles are not copied: an assignment ends the program. A handle is closed when it goes out of
!>   scope; that does not happen in a main program, which calls close(). An MPI program closes its
!>   runtime before MPI_Finalize().
module forebay
  use forebay_c, only: forebay_ok, forebay_invalid_argument, forebay_not_found, forebay_exists, &
    forebay_permission, forebay_io, forebay_no_space, forebay_short_file, forebay_out_of_range, &
    forebay_damage, forebay_cancelled, forebay_closed, forebay_limit, forebay_unsupported, &
    forebay_exception
  use forebay_handles, only: forebay_runtime, forebay_request
  use forebay_sessions, only: forebay_session, forebay_view
  use forebay_datasets, only: forebay_dataset_writer, forebay_step_writer, &
    forebay_dataset_reader, forebay_step_reader
  implicit none
  public
end module
