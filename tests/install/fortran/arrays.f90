! SPDX-License-Identifier: Apache-2.0
!> Arrays of each type, of several ranks and with strides are read back equal, attributes too, and
!> bad arguments are refused. Prints nothing; the first failure ends the program.
program arrays
  use, intrinsic :: iso_c_binding, only: c_bool
  use, intrinsic :: iso_fortran_env
  use forebay
  implicit none
  character(len=1000) :: path, message
  type(forebay_runtime) :: runtime
  type(forebay_dataset_writer) :: dataset
  type(forebay_dataset_reader) :: stored
  type(forebay_step_writer) :: step
  type(forebay_step_reader) :: found
  type(forebay_request) :: request
  integer :: i, stat
  integer(int8) :: bytes(3) = [1_int8, -2_int8, 3_int8], bytes_read(3)
  integer(int16) :: shorts(2) = [-300_int16, 7_int16], shorts_read(2)
  integer(int32) :: grid(4, 5), grid_read(4, 5)
  integer(int64) :: long = 5000000000_int64, long_read
  real(real32) :: cube(2, 3, 4), cube_read(2, 3, 4)
  real(real64) :: line(10), line_read(10) = 0
  complex(real32) :: small(2) = [(1., 2.), (3., 4.)], small_read(2)
  complex(real64) :: large(1, 1, 1, 1, 1, 1, 1) = (5d0, 6d0), large_read(1, 1, 1, 1, 1, 1, 1)
  logical(c_bool) :: flags(2) = [.true._c_bool, .false._c_bool], flags_read(2)
  integer(int64), allocatable :: numbers(:)
  character(len=:), allocatable :: text
  type :: derived
    integer :: a = 1
    real(real64) :: b = 2
  end type
  type(derived) :: particles(3)

  call get_command_argument(1, path)
  grid = reshape([(i, i=1, 20)], [4, 5])
  cube = reshape([(real(i), i=1, 24)], [2, 3, 4])
  line = [(real(i, real64), i=1, 10)]
  call runtime%create()
  call dataset%create(runtime, trim(path), plan='serial')
  call write_step()
  call step%commit(request)
  call request%wait()
  call refuse_arguments()
  call dataset%close(stat, message)
  call expect(stat == forebay_invalid_argument .and. index(message, '2 steps') > 0, message)
  call close_array_of_writers()
  call read_step()
  call refuse_reads()
  call runtime%close()

contains

  subroutine write_step()
    call dataset%begin_step(4_int64, step)
    call step%put('bytes', bytes, part=0_int64)
    call step%put('shorts', shorts, part=7_int64)
    call step%put('grid', grid(:, :3), global=[4_int64, 5_int64], start=[0_int64, 0_int64])
    call step%put('grid', grid(:, 4:), global=[4_int64, 5_int64], start=[0_int64, 3_int64])
    call step%put('long', long, part=0_int64)
    call step%put('cube', cube, part=1_int64)
    call step%put('line', line(1:9:2), part=0_int64)
    call step%put('small', small, part=0_int64)
    call step%put('large', large, part=0_int64)
    call step%put('flags', flags, part=0_int64)
    call step%put('b', particles%a, part=0_int64)
    call step%put('nothing', line(1:0), part=0_int64)
    call step%put('nowhere', grid(4:1, 5:1:-2), part=0_int64)
    call step%set_attribute('empty', cube(:, :, 1:4:-2))
    call assumed_size(line, 10)
    call step%set_attribute('time', 0.25d0)
    call step%set_attribute('box', cube(:, :, 1), field='cube')
    call step%set_text('units', 'm / s ', field='cube')
  end subroutine

  subroutine refuse_arguments()
    type(forebay_step_writer) :: closed
    call closed%put('line', line, part=0_int64, stat=stat, errmsg=message)
    call expect(stat == forebay_invalid_argument .and. index(message, 'NULL') > 0, 'closed step')
    call dataset%begin_step(4_int64, closed, stat, message)
    call expect(stat == forebay_invalid_argument, 'a number that is used: '//message)
    call expect(.not. closed%is_open(), 'a failed step is open')
    call dataset%begin_step(5_int64, step)
    call step%put('line', line, part=0_int64)
    call step%put('cube', cube(2:1:-1, :, :), part=1_int64, stat=stat, errmsg=message)
    call expect(stat == forebay_invalid_argument, 'descending order is refused: '//message)
    call step%put('p', particles, part=0_int64, stat=stat, errmsg=message)
    call expect(stat == forebay_invalid_argument .and. index(message, 'type') > 0, 'derived type')
    call step%put('line', line, stat=stat, errmsg=message)
    call expect(stat == forebay_invalid_argument .and. index(message, 'pass a part') > 0, 'place')
    call step%put(repeat('x', 2000), line, stat=stat, errmsg=message)
    call expect(stat == forebay_invalid_argument .and. len_trim(message) > 900, 'a long name')
    call step%put('line', line, global=[1_int64, 2_int64], start=[0_int64], stat=stat)
    call expect(stat == forebay_invalid_argument, 'ranks of the global array')
    call step%set_attribute('gaps', line(::2), stat=stat, errmsg=message)
    call expect(stat == forebay_invalid_argument .and. index(message, 'gaps') > 0, 'gaps')
    call step%commit(stat=stat, errmsg=message)
    call expect(stat == forebay_invalid_argument .and. index(message, 'order') > 0, &
                'commit after a refused put: '//message)
    call dataset%begin_step(6_int64, step)
    call step%set_attribute('gaps', line(::2), stat=stat)
    call step%commit(request, stat, message)
    call expect(stat == forebay_invalid_argument .and. index(message, 'gaps') > 0, &
                'commit after a refused attribute: '//message)
  end subroutine

  !> Only one writer at a time can have a dataset open.
  subroutine open_array_of_writers()
    type(forebay_dataset_writer) :: writers(2)
    call writers(2)%create(runtime, trim(path)//'.other')
  end subroutine

  subroutine close_array_of_writers()
    call open_array_of_writers()
    call dataset%create(runtime, trim(path)//'.other', append=.true.)
    call dataset%close()
  end subroutine

  subroutine assumed_size(values, n)
    integer, intent(in) :: n
    real(real64), intent(in) :: values(*)
    call step%set_attribute('line', values(1:n))
  end subroutine

  subroutine read_step()
    call stored%open(runtime, path)
    call stored%get_steps(numbers)
    call expect(size(numbers) == 1 .and. all(numbers == 4), 'steps')
    call stored%open_step(4_int64, found)
    call found%read('bytes', bytes_read, part=0_int64)
    call expect(all(bytes_read == bytes), 'int8')
    call found%read('shorts', shorts_read, part=7_int64, request=request)
    call request%wait()
    call expect(all(shorts_read == shorts), 'int16')
    call found%read('grid', grid_read)
    call expect(all(grid_read == grid), 'int32')
    grid_read = 0
    call found%read('grid', grid_read(1:3:2, 2:3), start=[1_int64, 2_int64])
    call expect(all(grid_read(1:3:2, 2:3) == grid(2:3, 3:4)) .and. sum(abs(grid_read)) == &
                sum(grid(2:3, 3:4)), 'a box into a section')
    call found%read('long', long_read, part=0_int64)
    call expect(long_read == long, 'int64')
    call found%read('cube', cube_read, part=1_int64)
    call expect(all(cube_read == cube), 'real32')
    call found%read('line', line_read(10:2:-2), part=0_int64, stat=stat)
    call expect(stat == forebay_invalid_argument, 'descending read')
    call found%read('line', line_read(2:10:2), part=0_int64)
    call expect(all(line_read(2:10:2) == line(1:9:2)) .and. all(line_read(1:9:2) == 0), 'real64')
    call found%read('small', small_read, part=0_int64)
    call expect(all(small_read == small), 'complex real32')
    call found%read('large', large_read, part=0_int64)
    call expect(all(large_read == large), 'complex real64, rank 7')
    call found%read('flags', flags_read, part=0_int64)
    call expect(logical(all(flags_read .eqv. flags)), 'logical')
    call found%get_shape('grid', numbers)
    call expect(all(numbers == [4, 5]), 'shape of an array')
    call found%get_shape('cube', numbers, part=1_int64)
    call expect(all(numbers == [2, 3, 4]), 'shape of a part')
    call found%get_parts('shorts', numbers)
    call expect(size(numbers) == 1 .and. all(numbers == 7), 'parts')
    call read_attributes()
  end subroutine

  subroutine read_attributes()
    real(real64) :: time
    real(real32) :: box(2, 3)
    call found%get_attribute('time', time)
    call expect(time == 0.25d0, 'attribute of the step')
    call found%get_attribute('box', box, field='cube')
    call expect(all(box == cube(:, :, 1)), 'attribute of a field')
    call found%get_text('units', text, field='cube')
    call expect(text == 'm / s', 'text')
    call found%get_attribute('line', line_read)
    call expect(all(line_read == line), 'attribute from an assumed size')
  end subroutine

  subroutine refuse_reads()
    real(real64) :: time
    integer :: wrong
    call found%get_attribute('time', wrong, stat=stat, errmsg=message)
    call expect(stat == forebay_invalid_argument .and. index(message, 'time') > 0, 'other type')
    call found%get_attribute('none', time, stat=stat)
    call expect(stat == forebay_not_found, 'no attribute')
    call found%get_text('time', text, stat=stat)
    call expect(stat == forebay_invalid_argument, 'no text')
    call found%read('none', line_read, part=0_int64, stat=stat, errmsg=message)
    call expect(stat == forebay_not_found .and. index(message, 'none') > 0, 'no field')
    call found%read('grid', line_read, stat=stat)
    call expect(stat == forebay_invalid_argument, 'other rank')
    call found%read('grid', cube_read(1, :, :), stat=stat)
    call expect(stat == forebay_invalid_argument, 'other type of a read')
    call found%read('bytes', bytes_read, stat=stat)
    call expect(stat == forebay_invalid_argument, 'no part')
    call found%read('bytes', bytes_read, part=9_int64, stat=stat)
    call expect(stat == forebay_not_found, 'missing part')
    call stored%open_step(5_int64, found, stat, message)
    call expect(stat == forebay_not_found .and. len_trim(message) > 0, 'missing step')
  end subroutine

  subroutine expect(is_true, what)
    logical, intent(in) :: is_true
    character(len=*), intent(in) :: what
    if (is_true) return
    write (error_unit, '(a)') what
    error stop 2
  end subroutine
end program
