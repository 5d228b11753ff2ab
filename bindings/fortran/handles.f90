! SPDX-License-Identifier: Apache-2.0
!> Handles that close themselves, failures, runtimes and requests.
module forebay_handles
  use, intrinsic :: iso_fortran_env, only: error_unit, int64
  use forebay_c
  implicit none
  public

  enum, bind(c)
    enumerator :: kind_runtime, kind_request, kind_session, kind_view, kind_dataset_writer, &
      kind_step_writer, kind_dataset_reader, kind_step_reader
  end enum

  !> What all handles have. An operation on a closed handle is forebay_invalid_argument.
  type :: forebay_handle
    type(c_ptr) :: address = c_null_ptr
    integer :: kind = 0
  contains
    procedure, non_overridable :: is_open => handle_is_open
    !> Frees the handle. A dataset_writer waits for its steps; a step_writer is aborted.
    procedure :: close => handle_close
    !> Takes a handle of the C interface. Closes the former one.
    procedure, non_overridable :: take => handle_take
    procedure, private :: refuse_copy => handle_refuse_copy
    generic :: assignment(=) => refuse_copy
    final :: handle_finalize
  end type

  type, extends(forebay_handle) :: forebay_runtime
  contains
    !> A runtime of this process alone. forebay_create_runtime() of forebay_mpi makes one for ranks.
    procedure :: create => runtime_create
    !> The number of this rank, from 0, and the number of ranks; whether it must call serve().
    procedure :: get_rank => runtime_get_rank
    procedure :: serve => runtime_serve
  end type

  type, extends(forebay_handle) :: forebay_request
  contains
    !> Blocks until the operation has finished.
    procedure :: wait => request_wait
    !> Whether it has finished. Never blocks.
    procedure :: test => request_test
  end type

contains

  ! ---- Failures and texts ----

  !> Stores the error%status and the message, or ends the program if `stat` is absent.
  subroutine forebay_finish(error, stat, errmsg)
    type(forebay_error), intent(in) :: error
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    character(len=message_bytes) :: text
    integer :: i
    if (present(stat)) stat = error%status
    if (error%status == forebay_ok) return
    text = ''
    do i = 1, message_bytes
      if (error%message(i) == c_null_char) exit
      text(i:i) = error%message(i)
    end do
    if (present(errmsg)) errmsg = text
    if (present(stat)) return
    write (error_unit, '(a)') trim(text)
    flush (error_unit)  ! before the backtrace
    error stop 1
  end subroutine

  subroutine refuse(cause, error)
    character(len=*), intent(in) :: cause
    type(forebay_error), intent(inout) :: error
    integer :: i, length
    error%status = forebay_invalid_argument
    length = min(len(cause), message_bytes - 1)
    error%message(:length) = [(cause(i:i), i=1, length)]
    error%message(length + 1) = c_null_char
  end subroutine

  pure function c_text(text)
    character(len=*), intent(in) :: text
    character(len=:), allocatable :: c_text
    c_text = trim(text)//c_null_char
  end function

  function text_at(address)
    type(c_ptr), intent(in) :: address
    character(len=:), allocatable :: text_at
    character(kind=c_char), pointer :: characters(:)
    integer :: i
    call c_f_pointer(address, characters, [c_strlen(address)])
    allocate (character(len=size(characters)) :: text_at)
    do i = 1, size(characters)
      text_at(i:i) = characters(i)
    end do
  end function

  ! ---- Handles ----

  logical function handle_is_open(self)
    class(forebay_handle), intent(in) :: self
    handle_is_open = c_associated(self%address)
  end function

  subroutine handle_take(self, address, kind)
    class(forebay_handle), intent(inout) :: self
    type(c_ptr), intent(in) :: address
    integer, intent(in) :: kind
    call free_handle(self)
    self%address = address
    self%kind = kind
  end subroutine

  subroutine free_handle(self)
    class(forebay_handle), intent(inout) :: self
    type(c_view), pointer :: view
    integer(c_int) :: ignored
    if (.not. c_associated(self%address)) return
    select case (self%kind)
    case (kind_runtime)
      call forebay_runtime_destroy(self%address)
    case (kind_request)
      call forebay_request_free(self%address)
    case (kind_session)
      call forebay_session_close(self%address)
    case (kind_view)
      call c_f_pointer(self%address, view)
      call forebay_view_release(self%address)
      deallocate (view)
    case (kind_dataset_writer)
      ignored = forebay_dataset_writer_close(self%address, c_null_ptr)
    case (kind_step_writer)
      call forebay_step_abort(self%address)
    case (kind_dataset_reader)
      call forebay_dataset_reader_close(self%address)
    case (kind_step_reader)
      call forebay_step_close(self%address)
    end select
    self%address = c_null_ptr
  end subroutine

  subroutine handle_close(self, stat, errmsg)
    class(forebay_handle), intent(inout) :: self
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    call free_handle(self)
    if (present(stat)) stat = forebay_ok
  end subroutine

  subroutine handle_refuse_copy(self, other)
    class(forebay_handle), intent(inout) :: self
    class(forebay_handle), intent(in) :: other
    error stop 'forebay: a handle was copied; pass it by reference'
  end subroutine

  !> Elemental, so that arrays of handles are closed, too.
  impure elemental subroutine handle_finalize(self)
    type(forebay_handle), intent(inout) :: self
    call free_handle(self)
  end subroutine

  ! ---- Runtimes and requests ----

  subroutine runtime_create(self, stat, errmsg)
    class(forebay_runtime), intent(inout) :: self
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    type(c_ptr), target :: made
    type(forebay_error), target :: error
    error%status = forebay_runtime_create(c_null_ptr, c_loc(made), c_loc(error))
    if (error%status == forebay_ok) call self%take(made, kind_runtime)
    call forebay_finish(error, stat, errmsg)
  end subroutine

  subroutine runtime_get_rank(self, rank, rank_count, is_io_rank, stat, errmsg)
    class(forebay_runtime), intent(in) :: self
    integer, intent(out), optional :: rank, rank_count
    logical, intent(out), optional :: is_io_rank
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    integer(c_int32_t), target :: numbers(2)
    logical(c_bool), target :: is_io
    type(forebay_error), target :: error
    numbers = -1
    is_io = .false.
    error%status = forebay_runtime_rank(self%address, c_loc(numbers(1)), c_loc(numbers(2)), &
                                  c_loc(is_io), c_loc(error))
    if (present(rank)) rank = numbers(1)
    if (present(rank_count)) rank_count = numbers(2)
    if (present(is_io_rank)) is_io_rank = is_io
    call forebay_finish(error, stat, errmsg)
  end subroutine

  subroutine runtime_serve(self, stat, errmsg)
    class(forebay_runtime), intent(inout) :: self
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    type(forebay_error), target :: error
    error%status = forebay_runtime_serve(self%address, c_loc(error))
    call forebay_finish(error, stat, errmsg)
  end subroutine

  !> Where a function of the C interface stores a request; null if the caller has none: it blocks.
  type(c_ptr) function request_place(request, made)
    class(forebay_request), intent(inout), optional :: request
    type(c_ptr), intent(inout), target :: made
    made = c_null_ptr
    request_place = c_null_ptr
    if (present(request)) request_place = c_loc(made)
  end function

  subroutine keep_request(request, made)
    class(forebay_request), intent(inout), optional :: request
    type(c_ptr), intent(in) :: made
    if (present(request)) call request%take(made, kind_request)
  end subroutine

  subroutine request_wait(self, stat, errmsg)
    class(forebay_request), intent(inout) :: self
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    type(forebay_error), target :: error
    error%status = forebay_request_wait(self%address, -1_c_int64_t, c_null_ptr, c_loc(error))
    call forebay_finish(error, stat, errmsg)
  end subroutine

  subroutine request_test(self, is_done, stat, errmsg)
    class(forebay_request), intent(inout) :: self
    logical, intent(out) :: is_done
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    logical(c_bool), target :: done
    type(forebay_error), target :: error
    done = .false.
    error%status = forebay_request_test(self%address, c_loc(done), c_loc(error))
    is_done = done
    call forebay_finish(error, stat, errmsg)
  end subroutine
end module
