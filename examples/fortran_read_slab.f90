! SPDX-License-Identifier: Apache-2.0
!> Reading from Fortran: a slab of a three-dimensional array as one request, and all planes as views
!> of the session's window, without a copy.
program fortran_read_slab
  use, intrinsic :: iso_c_binding, only: c_f_pointer
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use forebay
  implicit none
  integer(int64), parameter :: columns = 40, rows = 48, planes = 64
  integer(int64), parameter :: plane_bytes = 8*columns*rows
  character(len=1024) :: path
  type(forebay_runtime) :: runtime
  type(forebay_session) :: session

  path = 'fortran_read_slab.bin'
  if (command_argument_count() > 0) call get_command_argument(1, path)
  call write_input()
  call runtime%create()
  call session%open(runtime, path)
  call read_slab()
  call read_planes()
  call session%close()
  call runtime%close()

contains

  pure real(real64) function value_at(column, row, plane)
    integer(int64), intent(in) :: column, row, plane
    value_at = real(((plane - 1)*rows + row - 1)*columns + column, real64)
  end function

  subroutine write_input()
    integer(int64) :: i
    integer :: unit
    open (newunit=unit, file=path, access='stream', form='unformatted', status='replace')
    write (unit) [(real(i, real64), i=1, columns*rows*planes)]
    close (unit)
  end subroutine

  !> Columns 6 to 21, rows 21 to 36, planes 11 to 26. Other work may be done before the wait.
  subroutine read_slab()
    real(real64), asynchronous :: slab(16, 16, 16)
    type(forebay_request) :: request
    call session%read_slab([columns, rows, planes], [5_int64, 20_int64, 10_int64], slab, &
                           request=request)
    call request%wait()
    if (slab(1, 1, 1) /= value_at(6_int64, 21_int64, 11_int64)) error stop 'wrong first value'
    if (slab(16, 16, 16) /= value_at(21_int64, 36_int64, 26_int64)) error stop 'wrong last value'
  end subroutine

  subroutine read_planes()
    type(forebay_view) :: view
    real(real64), pointer :: values(:, :)
    integer(int64) :: plane
    do plane = 1, planes
      call session%get_view((plane - 1)*plane_bytes, plane_bytes, view)
      call c_f_pointer(view%data(), values, [columns, rows])
      if (values(40, 48) /= value_at(columns, rows, plane)) error stop 'wrong plane'
    end do
  end subroutine
end program
