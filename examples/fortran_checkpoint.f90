! SPDX-License-Identifier: Apache-2.0
!> Checkpoint and restart from Fortran: a program continues from the newest step of its dataset, if
!> there is one, and writes further steps while it computes. Run it twice to see a restart.
program fortran_checkpoint
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use forebay
  implicit none
  integer(int64), parameter :: nx = 300, ny = 200, steps = 5
  ! With ghost cells, which are not stored.
  real(real64) :: temperature(0:nx + 1, 0:ny + 1) = -1
  character(len=1024) :: path
  type(forebay_runtime) :: runtime
  integer(int64) :: newest

  path = 'fortran_checkpoint.fb'
  if (command_argument_count() > 0) call get_command_argument(1, path)
  call runtime%create()
  newest = restart()
  call compute(newest + 1)
  if (any(temperature(1:nx, 1:ny) /= newest + steps)) error stop 'wrong values'
  if (temperature(0, 0) /= -1) error stop 'a ghost cell was changed'
  call runtime%close()

contains

  !> Reads the newest step, and returns its number; 0 if there is no dataset.
  integer(int64) function restart()
    type(forebay_dataset_reader) :: dataset
    type(forebay_step_reader) :: step
    integer(int64), allocatable :: numbers(:)
    character(len=1000) :: message
    real(real64) :: time
    integer :: stat
    temperature(1:nx, 1:ny) = 0
    restart = 0
    call dataset%open(runtime, path, stat, message)
    if (stat == forebay_not_found) return
    if (stat /= 0) error stop 'the dataset is unreadable'
    call dataset%get_steps(numbers)
    if (size(numbers) == 0) return
    restart = numbers(size(numbers))
    call dataset%open_step(restart, step)
    call step%read('temperature', temperature(1:nx, 1:ny))
    call step%get_attribute('time', time)
    if (time /= restart*0.5_real64) error stop 'wrong time'
  end function

  subroutine compute(first)
    integer(int64), intent(in) :: first
    type(forebay_dataset_writer) :: dataset
    type(forebay_step_writer) :: step
    type(forebay_request) :: committed
    integer(int64) :: number
    call dataset%create(runtime, path, append=.true.)
    do number = first, first + steps - 1
      temperature(1:nx, 1:ny) = temperature(1:nx, 1:ny) + 1
      call dataset%begin_step(number, step)
      ! With several ranks, each has its own start.
      call step%put('temperature', temperature(1:nx, 1:ny), global=[nx, ny], &
                    start=[0_int64, 0_int64])
      call step%set_attribute('time', number*0.5_real64)
      call step%set_text('units', 'K', field='temperature')
      call step%commit(committed)  ! the step continues when this request is closed
    end do
    call committed%wait()
    call dataset%close()
  end subroutine
end program
