! SPDX-License-Identifier: Apache-2.0
!> Reads the bits of the unsigned field 'u' and of the attribute 'top'; prints them.
program unsigned
  use, intrinsic :: iso_fortran_env, only: int16, int32, int64
  use forebay
  implicit none
  character(len=1000) :: path
  type(forebay_runtime) :: runtime
  type(forebay_dataset_reader) :: stored
  type(forebay_step_reader) :: step
  integer(int16) :: values(3), top
  integer(int32) :: wide(3)
  integer :: stat

  call get_command_argument(1, path)
  call runtime%create()
  call stored%open(runtime, path)
  call stored%open_step(1_int64, step)
  call step%read('u', values, part=0_int64)
  call step%get_attribute('top', top)
  call step%read('u', wide, part=0_int64, stat=stat)
  if (stat /= forebay_invalid_argument) error stop 'integers of another size'
  print '(*(i0, :, 1x))', values, top
  call step%close()
  call stored%close()
  call runtime%close()
end program
