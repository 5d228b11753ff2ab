! SPDX-License-Identifier: Apache-2.0
!> The checkpoint of bench/door/fortran.cpp in Fortran. Returns the class of a failure.
integer(c_int) function forebay_bench_fortran_checkpoint(path, values, elements, steps) bind(c)
  use, intrinsic :: iso_c_binding
  use forebay
  implicit none
  character(kind=c_char), intent(in) :: path(*)
  integer(c_int64_t), value :: elements, steps
  real(c_double), intent(in) :: values(elements)
  type(forebay_runtime) :: runtime
  type(forebay_dataset_writer) :: dataset
  type(forebay_step_writer) :: step
  type(forebay_request) :: committed
  character(len=4096) :: name
  integer(c_int64_t) :: number
  integer :: i, stat
  name = ''
  do i = 1, len(name)
    if (path(i) == c_null_char) exit
    name(i:i) = path(i)
  end do
  call runtime%create(stat)
  if (stat == 0) call dataset%create(runtime, name, stat=stat)
  do number = 1, steps
    if (stat == 0) call dataset%begin_step(number, step, stat)
    if (stat == 0) call step%put('values', values, part=0_c_int64_t, stat=stat)
    if (stat == 0) call step%commit(committed, stat)
  end do
  if (stat == 0) call dataset%close(stat)
  forebay_bench_fortran_checkpoint = stat
end function
