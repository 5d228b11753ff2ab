! SPDX-License-Identifier: Apache-2.0
!> The C interface as Fortran sees it: structs and functions of <forebay.h>, and describe.c. Used by
!> the other modules alone.
module forebay_c
  use, intrinsic :: iso_c_binding
  implicit none
  public

  enum, bind(c)
    enumerator :: forebay_ok = 0, forebay_invalid_argument, forebay_not_found, forebay_exists, &
      forebay_permission, forebay_io, forebay_no_space, forebay_short_file, forebay_out_of_range, &
      forebay_damage, forebay_cancelled, forebay_closed, forebay_limit, forebay_unsupported, &
      forebay_exception
  end enum

  integer, parameter :: message_bytes = 992, dimensions_max = 15
  integer(c_int), parameter :: type_int64 = 4, type_bytes = 14, type_text = 15

  !> As forebay_error of <forebay.h>.
  type, bind(c) :: forebay_error
    integer(c_int) :: status = 0, error_number = 0
    integer(c_int64_t) :: rank = -1, offset = -1
    character(kind=c_char) :: message(message_bytes)
  end type

  ! Structs of the C interface.
  type, bind(c) :: c_range
    integer(c_int64_t) :: offset, size
  end type
  type, bind(c) :: c_view
    type(c_ptr) :: data = c_null_ptr
    integer(c_int64_t) :: size = 0, offset = 0
    type(c_ptr) :: storage(8)
  end type
  type, bind(c) :: c_subarray
    integer(c_size_t) :: size
    integer(c_int32_t) :: dimensions
    integer(c_int) :: order = 0
    type(c_ptr) :: shape, start, count
    integer(c_int64_t) :: element_bytes, array_offset
  end type
  type, bind(c) :: c_block
    integer(c_size_t) :: size
    type(c_ptr) :: field
    integer(c_int) :: type
    integer(c_int32_t) :: dimensions
    type(c_ptr) :: count
    integer(c_int64_t) :: part = 0
    type(c_ptr) :: global_shape = c_null_ptr, start = c_null_ptr, fill = c_null_ptr
    type(c_ptr) :: memory_shape = c_null_ptr, memory_start = c_null_ptr, memory_strides = c_null_ptr
    integer(c_int) :: memory_order = 0
  end type
  type, bind(c) :: c_dataset_options
    integer(c_size_t) :: size
    integer(c_int) :: existing = 0
    logical(c_bool) :: tune = .false.
    type(c_ptr) :: plan = c_null_ptr, plan_toml = c_null_ptr, profile = c_null_ptr
  end type
  type, bind(c) :: c_attribute
    integer(c_size_t) :: size
    type(c_ptr) :: name
    integer(c_int) :: type
    integer(c_int32_t) :: dimensions = 0
    type(c_ptr) :: shape, data
  end type
  type, bind(c) :: c_field_info
    integer(c_size_t) :: size
    type(c_ptr) :: name
    integer(c_int) :: type
    logical(c_bool) :: is_global
    integer(c_int32_t) :: dimensions
    type(c_ptr) :: shape
    integer(c_int64_t) :: block_count, bytes, stored_bytes, attribute_count
  end type
  type, bind(c) :: c_part_list
    integer(c_size_t) :: size
    integer(c_int32_t) :: rank = 0, rank_count = 0
    type(c_ptr) :: numbers = c_null_ptr
    integer(c_size_t) :: capacity = 0, count = 0
  end type
  type, bind(c) :: c_array  ! of describe.c
    type(c_ptr) :: data
    integer(c_int64_t) :: element_bytes
    integer(c_int) :: type
    integer(c_int32_t) :: dimensions
    integer(c_int64_t) :: count(dimensions_max), strides(dimensions_max)
    logical(c_bool) :: is_packed
  end type

  ! Functions of the C interface. Numbers are named n, ranges r, and pointers by their position. Not
  ! procedure(...) declarations of an abstract interface: gfortran 12 ignores VALUE in them.
  interface
    integer(c_int) function forebay_dataset_writer_close(a, b) bind(c)
      import; type(c_ptr), value :: a, b; end
    integer(c_int) function forebay_runtime_serve(a, b) bind(c)
      import; type(c_ptr), value :: a, b; end
    integer(c_int) function forebay_runtime_create(a, b, c) bind(c)
      import; type(c_ptr), value :: a, b, c; end
    integer(c_int) function forebay_step_commit(a, b, c) bind(c)
      import; type(c_ptr), value :: a, b, c; end
    integer(c_int) function forebay_request_test(a, b, c) bind(c)
      import; type(c_ptr), value :: a, b, c; end
    integer(c_int) function forebay_file_open(a, b, c, d) bind(c)
      import; type(c_ptr), value :: a, b, c, d; end
    integer(c_int) function forebay_step_put(a, b, c, d) bind(c)
      import; type(c_ptr), value :: a, b, c, d; end
    integer(c_int) function forebay_step_set_attribute(a, b, c, d) bind(c)
      import; type(c_ptr), value :: a, b, c, d; end
    integer(c_int) function forebay_dataset_steps(a, b, c, d) bind(c)
      import; type(c_ptr), value :: a, b, c, d; end
    integer(c_int) function forebay_step_list_parts(a, b, c, d) bind(c)
      import; type(c_ptr), value :: a, b, c, d; end
    integer(c_int) function forebay_runtime_rank(a, b, c, d, e) bind(c)
      import; type(c_ptr), value :: a, b, c, d, e; end
    integer(c_int) function forebay_dataset_create(a, b, c, d, e) bind(c)
      import; type(c_ptr), value :: a, b, c, d, e; end
    integer(c_int) function forebay_dataset_open(a, b, c, d, e) bind(c)
      import; type(c_ptr), value :: a, b, c, d, e; end
    integer(c_int) function forebay_session_read_subarray(a, b, c, d, e) bind(c)
      import; type(c_ptr), value :: a, b, c, d, e; end
    integer(c_int) function forebay_step_read(a, b, c, d, e) bind(c)
      import; type(c_ptr), value :: a, b, c, d, e; end
    integer(c_int) function forebay_dataset_begin_step(a, n, c, d) bind(c)
      import; integer(c_int64_t), value :: n; type(c_ptr), value :: a, c, d; end
    integer(c_int) function forebay_dataset_open_step(a, n, c, d) bind(c)
      import; integer(c_int64_t), value :: n; type(c_ptr), value :: a, c, d; end
    integer(c_int) function forebay_request_wait(a, n, c, d) bind(c)
      import; integer(c_int64_t), value :: n; type(c_ptr), value :: a, c, d; end
    integer(c_int) function forebay_step_get_field(a, b, n, d, e) bind(c)
      import; integer(c_int64_t), value :: n; type(c_ptr), value :: a, b, d, e; end
    integer(c_int) function forebay_step_get_attribute(a, b, n, d, e) bind(c)
      import; integer(c_int64_t), value :: n; type(c_ptr), value :: a, b, d, e; end
    integer(c_int) function forebay_step_part_shape(a, b, n, d, e) bind(c)
      import; integer(c_int64_t), value :: n; type(c_ptr), value :: a, b, d, e; end
    integer(c_int) function forebay_session_prefetch(a, r, c) bind(c)
      import; type(c_range), value :: r; type(c_ptr), value :: a, c; end
    integer(c_int) function forebay_session_open(a, r, c, d, e) bind(c)
      import; type(c_range), value :: r; type(c_ptr), value :: a, c, d, e; end
    integer(c_int) function forebay_session_read(a, r, c, d, e) bind(c)
      import; type(c_range), value :: r; type(c_ptr), value :: a, c, d, e; end
    integer(c_int) function forebay_session_view(a, r, c, d, e) bind(c)
      import; type(c_range), value :: r; type(c_ptr), value :: a, c, d, e; end
    subroutine forebay_runtime_destroy(handle) bind(c)
      import; type(c_ptr), value :: handle; end
    subroutine forebay_request_free(handle) bind(c)
      import; type(c_ptr), value :: handle; end
    subroutine forebay_file_close(handle) bind(c)
      import; type(c_ptr), value :: handle; end
    subroutine forebay_session_close(handle) bind(c)
      import; type(c_ptr), value :: handle; end
    subroutine forebay_view_release(handle) bind(c)
      import; type(c_ptr), value :: handle; end
    subroutine forebay_step_abort(handle) bind(c)
      import; type(c_ptr), value :: handle; end
    subroutine forebay_dataset_reader_close(handle) bind(c)
      import; type(c_ptr), value :: handle; end
    subroutine forebay_step_close(handle) bind(c)
      import; type(c_ptr), value :: handle; end
    integer(c_int) function forebay_fortran_describe(values, array, error) bind(c)
      import :: c_int, c_array, forebay_error
      type(*), intent(in), asynchronous :: values(..)
      type(c_array), intent(out) :: array
      type(forebay_error), intent(inout) :: error
    end function
    integer(c_size_t) function c_strlen(text) bind(c, name='strlen')
      import :: c_size_t, c_ptr
      type(c_ptr), value :: text
    end function
  end interface

end module
