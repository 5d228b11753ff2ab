! SPDX-License-Identifier: Apache-2.0
!> Each rank writes columns of an array, and all ranks read the whole. Prints the number of ranks.
program ranks
  use, intrinsic :: iso_c_binding, only: c_int
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use forebay_mpi
  implicit none
  interface
    integer(c_int) function start_mpi() bind(c)
      import :: c_int
    end function
    subroutine end_mpi() bind(c)
    end subroutine
  end interface
  character(len=1000) :: path
  type(forebay_runtime) :: runtime
  integer :: communicator, rank, rank_count, stat
  logical :: is_io_rank

  call get_command_argument(1, path)
  communicator = start_mpi()
  call forebay_create_runtime(runtime, communicator)
  call runtime%get_rank(rank, rank_count, is_io_rank)
  if (is_io_rank) error stop 'an I/O rank'
  call write_columns()
  call read_all()
  if (rank == 0) print '(i0)', rank_count
  call runtime%serve(stat)
  if (stat /= forebay_invalid_argument) error stop 'a compute rank serves'
  call runtime%close()
  call end_mpi()

contains

  subroutine write_columns()
    type(forebay_dataset_writer) :: dataset
    type(forebay_step_writer) :: step
    real(real64) :: columns(3, 2)
    call dataset%create(runtime, path)
    call dataset%begin_step(1_int64, step)
    columns = rank
    call step%put('columns', columns, global=[3_int64, 2_int64*rank_count], &
                  start=[0_int64, 2_int64*rank])
    call step%commit()
    call dataset%close()
  end subroutine

  subroutine read_all()
    type(forebay_dataset_reader) :: dataset
    type(forebay_step_reader) :: step
    real(real64) :: columns(3, 2*rank_count)
    integer :: i
    call dataset%open(runtime, path)
    call dataset%open_step(1_int64, step)
    call step%read('columns', columns)
    do i = 0, rank_count - 1
      if (any(columns(:, 2*i + 1:2*i + 2) /= i)) error stop 'wrong columns'
    end do
  end subroutine
end program
