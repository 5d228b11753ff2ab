! SPDX-License-Identifier: Apache-2.0
! forebay-bench-reader-fortran FILE COUNT: reads COUNT blocks of 64 KiB with a stride of 256 KiB,
! and prints a checksum. The library of gfortran reads 128 KiB for each.
program reader
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  integer(int64) :: block(8192), total, i
  integer :: blocks, file
  character(len=4096) :: word

  call get_command_argument(2, word)
  read (word, *) blocks
  call get_command_argument(1, word)
  open (newunit=file, file=trim(word), access='stream', form='unformatted', action='read')
  total = 0
  do i = 0, blocks - 1
    read (file, pos=1 + i * 262144) block
    total = total + sum(block)
  end do
  close (file)
  print '(i0)', total
end program reader
