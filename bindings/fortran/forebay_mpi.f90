! SPDX-License-Identifier: Apache-2.0
!> Forebay for the ranks of an MPI job; includes the module forebay.
module forebay_mpi
  use forebay
  use forebay_handles, only: c_int, c_ptr, c_null_ptr, c_loc, forebay_error, forebay_finish, &
    kind_runtime
  implicit none
  public
  private :: c_int, c_ptr, c_null_ptr, c_loc, forebay_error, forebay_finish, kind_runtime, &
    forebay_runtime_create_fortran

  interface
    integer(c_int) function forebay_runtime_create_fortran(communicator, options, runtime, error) &
      bind(c)
      import :: c_int, c_ptr
      integer(c_int), value :: communicator
      type(c_ptr), value :: options, runtime, error
    end function
  end interface

contains

  !> Creates the runtime of this rank. Collective over `communicator`: an integer, or the component
  !> MPI_VAL of a type(MPI_Comm) of mpi_f08. MPI must be initialized.
  subroutine forebay_create_runtime(runtime, communicator, stat, errmsg)
    class(forebay_runtime), intent(inout) :: runtime
    integer, intent(in) :: communicator
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    type(c_ptr), target :: made
    type(forebay_error), target :: error
    error%status = forebay_runtime_create_fortran(int(communicator, c_int), c_null_ptr, &
                                                  c_loc(made), c_loc(error))
    if (error%status == forebay_ok) call runtime%take(made, kind_runtime)
    call forebay_finish(error, stat, errmsg)
  end subroutine
end module
