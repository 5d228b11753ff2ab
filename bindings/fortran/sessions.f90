! SPDX-License-Identifier: Apache-2.0
!> Sessions that read files, and views of their bytes.
module forebay_sessions
  use forebay_handles
  implicit none
  private
  public :: forebay_session, forebay_view

  type, extends(forebay_handle) :: forebay_view
  contains
    !> The first byte, for c_f_pointer(). Valid until close().
    procedure :: data => view_data
  end type

  type, extends(forebay_handle) :: forebay_session
  contains
    !> Declares that the whole file will be read; agents begin. Collective over the compute ranks.
    procedure :: open => session_open
    !> Reads as many bytes as `values` has, from a byte offset of the file on.
    procedure :: read => session_read
    !> Reads a slab of an array: size and rank of the slab are those of `values`.
    procedure :: read_slab => session_read_slab
    !> Shows bytes of the session without a copy.
    procedure :: get_view => session_get_view
    procedure :: prefetch => session_prefetch
  end type

contains

  subroutine session_open(self, runtime, path, stat, errmsg)
    class(forebay_session), intent(inout) :: self
    class(forebay_runtime), intent(in) :: runtime
    character(len=*), intent(in) :: path
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    character(len=:), allocatable, target :: name
    type(c_ptr), target :: file, made
    type(forebay_error), target :: error
    name = c_text(path)
    error%status = forebay_file_open(runtime%address, c_loc(name), c_loc(file), c_loc(error))
    if (error%status == forebay_ok) then
      error%status = forebay_session_open(file, c_range(0, -1), c_null_ptr, c_loc(made), &
                                          c_loc(error))
      call forebay_file_close(file)
    end if
    if (error%status == forebay_ok) call self%take(made, kind_session)
    call forebay_finish(error, stat, errmsg)
  end subroutine

  !> The size of an array in bytes. Refuses one with gaps.
  subroutine describe_packed(values, array, error)
    type(*), intent(in), asynchronous :: values(..)
    type(c_array), intent(out) :: array
    type(forebay_error), intent(inout) :: error
    error%status = forebay_fortran_describe(values, array, error)
    if (error%status /= forebay_ok .or. array%is_packed) return
    call refuse('read: the array has gaps; pass a contiguous array', error)
  end subroutine

  subroutine session_read(self, offset, values, request, stat, errmsg)
    class(forebay_session), intent(inout) :: self
    integer(int64), intent(in) :: offset
    type(*), intent(inout), asynchronous :: values(..)
    class(forebay_request), intent(inout), optional :: request
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    type(c_array) :: array
    type(c_range) :: range
    type(c_ptr), target :: made
    type(forebay_error), target :: error
    call describe_packed(values, array, error)
    if (error%status == forebay_ok) then
      range = c_range(offset, product(array%count(:array%dimensions))*array%element_bytes)
      error%status = forebay_session_read(self%address, range, array%data, &
                                          request_place(request, made), c_loc(error))
      call keep_request(request, made)
    end if
    call forebay_finish(error, stat, errmsg)
  end subroutine

  subroutine session_read_slab(self, shape, start, values, array_offset, request, stat, errmsg)
    class(forebay_session), intent(inout) :: self
    integer(int64), intent(in) :: shape(:), start(:)
    type(*), intent(inout), asynchronous :: values(..)
    integer(int64), intent(in), optional :: array_offset
    class(forebay_request), intent(inout), optional :: request
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    integer(int64), target :: file_shape(size(shape)), first(size(start))
    type(c_array), target :: array
    type(c_subarray), target :: slab
    type(c_ptr), target :: made
    type(forebay_error), target :: error
    call describe_packed(values, array, error)
    if (error%status == forebay_ok .and. any([size(shape), size(start)] /= array%dimensions)) &
      call refuse('read a slab: shape, start and values have different ranks', error)
    if (error%status == forebay_ok) then
      file_shape = shape(size(shape):1:-1)
      first = start(size(start):1:-1)
      slab = c_subarray(c_sizeof(slab), array%dimensions, 0, c_loc(file_shape), c_loc(first), &
                        c_loc(array%count), array%element_bytes, 0)
      if (present(array_offset)) slab%array_offset = array_offset
      error%status = forebay_session_read_subarray(self%address, c_loc(slab), array%data, &
                                             request_place(request, made), c_loc(error))
      call keep_request(request, made)
    end if
    call forebay_finish(error, stat, errmsg)
  end subroutine

  subroutine session_get_view(self, offset, bytes, view, stat, errmsg)
    class(forebay_session), intent(inout) :: self
    integer(int64), intent(in) :: offset, bytes
    class(forebay_view), intent(inout) :: view
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    type(c_view), pointer :: made
    type(forebay_error), target :: error
    allocate (made)
    error%status = forebay_session_view(self%address, c_range(offset, bytes), c_loc(made), &
                                        c_null_ptr, c_loc(error))
    call view%take(c_loc(made), kind_view)
    if (error%status /= forebay_ok) call view%close()
    call forebay_finish(error, stat, errmsg)
  end subroutine

  type(c_ptr) function view_data(self)
    class(forebay_view), intent(in) :: self
    type(c_view), pointer :: view
    view_data = c_null_ptr
    if (.not. self%is_open()) return
    call c_f_pointer(self%address, view)
    view_data = view%data
  end function

  subroutine session_prefetch(self, offset, bytes, stat, errmsg)
    class(forebay_session), intent(inout) :: self
    integer(int64), intent(in) :: offset, bytes
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    type(forebay_error), target :: error
    error%status = forebay_session_prefetch(self%address, c_range(offset, bytes), c_loc(error))
    call forebay_finish(error, stat, errmsg)
  end subroutine
end module
