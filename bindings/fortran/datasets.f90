! SPDX-License-Identifier: Apache-2.0
!> Datasets: written in steps, and read back.
module forebay_datasets
  use forebay_handles
  implicit none
  private
  public :: forebay_dataset_writer, forebay_step_writer, forebay_dataset_reader, forebay_step_reader

  type, extends(forebay_handle) :: forebay_dataset_writer
  contains
    !> Creates a dataset, or appends to it. `plan`: a strategy, else a TOML file. Collective.
    procedure :: create => writer_create
    procedure :: begin_step => writer_begin_step
    procedure :: close => writer_close
  end type

  type, extends(forebay_handle) :: forebay_step_writer
    type(forebay_error), private :: failure  ! the first; its status is forebay_ok without one
  contains
    !> After a failure of put(), set_attribute() or set_text(), commit() fails.
    !> Adds a part, or the box at `start` of a global array of shape `global`. Copies the values.
    procedure :: put => step_put
    !> Sets an attribute of the step, or of a field.
    procedure :: set_attribute => step_set_attribute
    procedure :: set_text => step_set_text
    !> Ends the handle. The request finishes when the step of all ranks is durable.
    procedure :: commit => step_commit
  end type

  type, extends(forebay_handle) :: forebay_dataset_reader
  contains
    !> Collective over the compute ranks.
    procedure :: open => reader_open
    procedure :: get_steps => reader_get_steps
    procedure :: open_step => reader_open_step
  end type

  type, extends(forebay_handle) :: forebay_step_reader
  contains
    !> The shape of a global array or of a part, in the order of Fortran.
    procedure :: get_shape => stored_get_shape
    !> Numbers of all parts, or those of a rank if ranks share them evenly.
    procedure :: get_parts => stored_get_parts
    !> Reads a whole part, or the box at `start` of a global array; its size is that of `values`.
    procedure :: read => stored_read
    !> Reads an attribute of the step, of a field, or with field='' of the dataset.
    procedure :: get_attribute => stored_get_attribute
    procedure :: get_text => stored_get_text
  end type

contains

  ! ---- Writing ----

  subroutine writer_create(self, runtime, path, append, plan, stat, errmsg)
    class(forebay_dataset_writer), intent(inout) :: self
    class(forebay_runtime), intent(in) :: runtime
    character(len=*), intent(in) :: path
    logical, intent(in), optional :: append
    character(len=*), intent(in), optional :: plan
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    character(len=:), allocatable, target :: name, plan_name
    type(c_dataset_options), target :: options
    type(c_ptr), target :: made
    type(forebay_error), target :: error
    name = c_text(path)
    options%size = c_sizeof(options)
    if (present(append)) options%existing = merge(1, 0, append)
    if (present(plan)) then
      plan_name = c_text(plan)
      options%plan = c_loc(plan_name)
    end if
    error%status = forebay_dataset_create(runtime%address, c_loc(name), c_loc(options), &
                                          c_loc(made), c_loc(error))
    if (error%status == forebay_ok) call self%take(made, kind_dataset_writer)
    call forebay_finish(error, stat, errmsg)
  end subroutine

  subroutine writer_close(self, stat, errmsg)
    class(forebay_dataset_writer), intent(inout) :: self
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    type(forebay_error), target :: error
    error%status = forebay_ok
    if (self%is_open()) error%status = forebay_dataset_writer_close(self%address, c_loc(error))
    self%address = c_null_ptr
    call forebay_finish(error, stat, errmsg)
  end subroutine

  subroutine writer_begin_step(self, number, step, stat, errmsg)
    class(forebay_dataset_writer), intent(inout) :: self
    integer(int64), intent(in) :: number
    class(forebay_step_writer), intent(inout) :: step
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    type(c_ptr), target :: made
    type(forebay_error), target :: error
    error%status = forebay_dataset_begin_step(self%address, number, c_loc(made), c_loc(error))
    if (error%status == forebay_ok) then
      call step%take(made, kind_step_writer)
      step%failure%status = forebay_ok
    end if
    call forebay_finish(error, stat, errmsg)
  end subroutine

  !> The block of an array, which must stay as long as the block, as must `name`.
  type(c_block) function block_of(array, name)
    type(c_array), intent(in), target :: array
    character(len=*), intent(in), target :: name
    block_of = c_block(c_sizeof(block_of), c_loc(name), array%type, array%dimensions, &
                       c_loc(array%count))
    if (.not. array%is_packed) block_of%memory_strides = c_loc(array%strides)
  end function

  subroutine step_put(self, field, values, part, global, start, stat, errmsg)
    class(forebay_step_writer), intent(inout) :: self
    character(len=*), intent(in) :: field
    type(*), intent(in), asynchronous :: values(..)
    integer(int64), intent(in), optional :: part, global(:), start(:)
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    integer(int64), target :: global_shape(dimensions_max), first(dimensions_max)
    character(len=:), allocatable, target :: name
    type(c_array), target :: array
    type(c_block), target :: block
    type(forebay_error), target :: error
    name = c_text(field)
    error%status = forebay_fortran_describe(values, array, error)
    if (error%status == forebay_ok) then
      block = block_of(array, name)
      if (present(part)) then
        block%part = part
      else if (present(global) .and. present(start)) then
        call reverse(global, array%dimensions, global_shape, error)
        if (error%status == forebay_ok) call reverse(start, array%dimensions, first, error)
        block%global_shape = c_loc(global_shape)
        block%start = c_loc(first)
      else
        call refuse('put '//field//': pass a part, or global and start', error)
      end if
    end if
    if (error%status == forebay_ok) &
      error%status = forebay_step_put(self%address, c_loc(block), array%data, c_loc(error))
    call keep_failure(self, error)
    call forebay_finish(error, stat, errmsg)
  end subroutine

  !> Fails the step, also if the call was refused here: the C interface refuses a null block.
  subroutine keep_failure(step, error)
    class(forebay_step_writer), intent(inout) :: step
    type(forebay_error), intent(in) :: error
    integer(c_int) :: ignored
    if (error%status == forebay_ok) return
    if (step%failure%status == forebay_ok) step%failure = error
    ignored = forebay_step_put(step%address, c_null_ptr, c_null_ptr, c_null_ptr)
  end subroutine

  !> The numbers of a Fortran array for C. Refuses another rank than that of the values.
  subroutine reverse(numbers, dimensions, reversed, error)
    integer(int64), intent(in) :: numbers(:)
    integer(c_int32_t), intent(in) :: dimensions
    integer(int64), intent(inout) :: reversed(dimensions_max)
    type(forebay_error), intent(inout) :: error
    error%status = forebay_ok
    if (size(numbers) == dimensions) then
      reversed(:dimensions) = numbers(dimensions:1:-1)
    else
      call refuse('select a box: global, start and values have different ranks', error)
    end if
  end subroutine

  subroutine step_set_attribute(self, name, values, field, stat, errmsg)
    class(forebay_step_writer), intent(inout) :: self
    character(len=*), intent(in) :: name
    type(*), intent(in), asynchronous :: values(..)
    character(len=*), intent(in), optional :: field
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    character(len=:), allocatable, target :: key
    type(c_array), target :: array
    type(c_attribute) :: attribute
    type(forebay_error) :: error
    key = c_text(name)
    error%status = forebay_fortran_describe(values, array, error)
    if (error%status == forebay_ok .and. .not. array%is_packed) &
      call refuse('set an attribute: the array has gaps; pass a contiguous array', error)
    attribute = c_attribute(c_sizeof(attribute), c_loc(key), array%type, rank(values), &
                            c_loc(array%count), array%data)
    if (error%status == forebay_ok) call store_attribute(self, field, attribute, error)
    call keep_failure(self, error)
    call forebay_finish(error, stat, errmsg)
  end subroutine

  subroutine step_set_text(self, name, text, field, stat, errmsg)
    class(forebay_step_writer), intent(inout) :: self
    character(len=*), intent(in) :: name, text
    character(len=*), intent(in), optional :: field
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    character(len=:), allocatable, target :: key, content
    type(c_attribute) :: attribute
    type(forebay_error) :: error
    key = c_text(name)
    content = c_text(text)
    attribute = c_attribute(c_sizeof(attribute), c_loc(key), type_text, 0, c_null_ptr, &
                            c_loc(content))
    call store_attribute(self, field, attribute, error)
    call keep_failure(self, error)
    call forebay_finish(error, stat, errmsg)
  end subroutine

  subroutine store_attribute(step, field, attribute, error)
    class(forebay_step_writer), intent(inout) :: step
    character(len=*), intent(in), optional :: field
    type(c_attribute), intent(in), target :: attribute
    type(forebay_error), intent(inout), target :: error
    character(len=:), allocatable, target :: name
    type(c_ptr) :: of
    of = c_null_ptr
    if (present(field)) then
      name = c_text(field)
      of = c_loc(name)
    end if
    error%status = forebay_step_set_attribute(step%address, of, c_loc(attribute), c_loc(error))
  end subroutine

  subroutine step_commit(self, request, stat, errmsg)
    class(forebay_step_writer), intent(inout) :: self
    class(forebay_request), intent(inout), optional :: request
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    type(c_ptr), target :: made
    type(forebay_error), target :: error
    error%status = forebay_step_commit(self%address, request_place(request, made), c_loc(error))
    if (error%status /= forebay_ok .and. self%is_open() .and. self%failure%status /= forebay_ok) &
      error = self%failure
    self%address = c_null_ptr
    call keep_request(request, made)
    call forebay_finish(error, stat, errmsg)
  end subroutine

  ! ---- Reading ----

  subroutine reader_open(self, runtime, path, stat, errmsg)
    class(forebay_dataset_reader), intent(inout) :: self
    class(forebay_runtime), intent(in) :: runtime
    character(len=*), intent(in) :: path
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    character(len=:), allocatable, target :: name
    type(c_ptr), target :: made
    type(forebay_error), target :: error
    name = c_text(path)
    error%status = forebay_dataset_open(runtime%address, c_loc(name), c_null_ptr, c_loc(made), &
                                  c_loc(error))
    if (error%status == forebay_ok) call self%take(made, kind_dataset_reader)
    call forebay_finish(error, stat, errmsg)
  end subroutine

  subroutine reader_get_steps(self, numbers, stat, errmsg)
    class(forebay_dataset_reader), intent(in) :: self
    integer(int64), allocatable, intent(out) :: numbers(:)
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    type(c_ptr), target :: address
    integer(c_size_t), target :: count
    integer(int64), pointer :: found(:)
    type(forebay_error), target :: error
    error%status = forebay_dataset_steps(self%address, c_loc(address), c_loc(count), c_loc(error))
    if (error%status == forebay_ok) then
      call c_f_pointer(address, found, [count])
      numbers = found
    end if
    call forebay_finish(error, stat, errmsg)
  end subroutine

  subroutine reader_open_step(self, number, step, stat, errmsg)
    class(forebay_dataset_reader), intent(in) :: self
    integer(int64), intent(in) :: number
    class(forebay_step_reader), intent(inout) :: step
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    type(c_ptr), target :: made
    type(forebay_error), target :: error
    error%status = forebay_dataset_open_step(self%address, number, c_loc(made), c_loc(error))
    if (error%status == forebay_ok) call step%take(made, kind_step_reader)
    call forebay_finish(error, stat, errmsg)
  end subroutine

  !> Describes a field.
  subroutine find_field(step, name, info, error)
    class(forebay_step_reader), intent(in) :: step
    character(len=*), intent(in), target :: name
    type(c_field_info), intent(out), target :: info
    type(forebay_error), intent(inout), target :: error
    info%size = c_sizeof(info)
    error%status = forebay_step_get_field(step%address, c_loc(name), 0_c_int64_t, c_loc(info), &
                                    c_loc(error))
  end subroutine

  subroutine stored_get_shape(self, field, shape, part, stat, errmsg)
    class(forebay_step_reader), intent(in) :: self
    character(len=*), intent(in) :: field
    integer(int64), allocatable, intent(out) :: shape(:)
    integer(int64), intent(in), optional :: part
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    character(len=:), allocatable, target :: name
    integer(int64), target :: of_part(dimensions_max)
    integer(int64), pointer :: found(:)
    type(c_field_info) :: info
    type(forebay_error), target :: error
    name = c_text(field)
    call find_field(self, name, info, error)
    if (error%status == forebay_ok .and. .not. info%is_global) then
      if (present(part)) then
        error%status = forebay_step_part_shape(self%address, c_loc(name), part, c_loc(of_part), &
                                         c_loc(error))
        info%shape = c_loc(of_part)
      else
        call refuse('get the shape of '//field//': it has parts; pass a part', error)
      end if
    end if
    if (error%status == forebay_ok) then
      call c_f_pointer(info%shape, found, [info%dimensions])
      shape = found(info%dimensions:1:-1)
    end if
    call forebay_finish(error, stat, errmsg)
  end subroutine

  subroutine stored_get_parts(self, field, parts, rank, rank_count, stat, errmsg)
    class(forebay_step_reader), intent(in) :: self
    character(len=*), intent(in) :: field
    integer(int64), allocatable, target, intent(out) :: parts(:)
    integer, intent(in), optional :: rank, rank_count
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    character(len=:), allocatable, target :: name
    type(c_part_list), target :: list
    type(forebay_error), target :: error
    name = c_text(field)
    list%size = c_sizeof(list)
    if (present(rank)) list%rank = rank
    if (present(rank_count)) list%rank_count = rank_count
    error%status = forebay_step_list_parts(self%address, c_loc(name), c_loc(list), c_loc(error))
    if (error%status == forebay_ok) then
      allocate (parts(list%count))
      list%numbers = c_loc(parts)
      list%capacity = list%count
      error%status = forebay_step_list_parts(self%address, c_loc(name), c_loc(list), c_loc(error))
    end if
    call forebay_finish(error, stat, errmsg)
  end subroutine

  subroutine stored_read(self, field, values, part, start, request, stat, errmsg)
    class(forebay_step_reader), intent(inout) :: self
    character(len=*), intent(in) :: field
    type(*), intent(inout), asynchronous :: values(..)
    integer(int64), intent(in), optional :: part, start(:)
    class(forebay_request), intent(inout), optional :: request
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    character(len=:), allocatable, target :: name
    integer(int64), target :: first(dimensions_max)
    type(c_array), target :: array
    type(c_block), target :: block
    type(c_field_info) :: info
    type(c_ptr), target :: made
    type(forebay_error), target :: error
    name = c_text(field)
    error%status = forebay_fortran_describe(values, array, error)
    if (error%status == forebay_ok) call find_field(self, name, info, error)
    if (error%status == forebay_ok .and. info%dimensions /= array%dimensions) &
      call refuse('read '//field//': the field and the values have different ranks', error)
    if (error%status == forebay_ok) then
      if (is_unsigned_of(info%type, array%type)) array%type = type_bytes
      block = block_of(array, name)
      if (present(part)) block%part = part
      if (info%is_global .neqv. present(part)) then
        first = 0
        if (info%is_global) block%global_shape = info%shape
        block%start = c_loc(first)
        if (present(start)) call reverse(start, array%dimensions, first, error)
      else
        call refuse('read '//field//': pass a part for a field of parts, and none for a global '// &
                    'array', error)
      end if
    end if
    if (error%status == forebay_ok) then
      error%status = forebay_step_read(self%address, c_loc(block), array%data, &
                                 request_place(request, made), c_loc(error))
      call keep_request(request, made)
    end if
    call forebay_finish(error, stat, errmsg)
  end subroutine

  !> Whether `stored` are the unsigned integers of the size of `type`, a signed one. Fortran has no
  !> unsigned type: their bits are read.
  pure logical function is_unsigned_of(stored, type)
    integer(c_int), intent(in) :: stored, type
    is_unsigned_of = type <= type_int64 .and. stored == type + type_int64
  end function

  !> Finds an attribute by its name.
  subroutine find_attribute(step, field, name, attribute, error)
    class(forebay_step_reader), intent(in) :: step
    character(len=*), intent(in), optional :: field
    character(len=*), intent(in) :: name
    type(c_attribute), intent(out), target :: attribute
    type(forebay_error), intent(inout), target :: error
    character(len=:), allocatable, target :: of
    type(c_ptr) :: of_address
    integer(c_int64_t) :: index
    of_address = c_null_ptr
    if (present(field)) then
      of = c_text(field)
      of_address = c_loc(of)
    end if
    attribute%size = c_sizeof(attribute)
    index = 0
    do
      error%status = forebay_step_get_attribute(step%address, of_address, index, c_loc(attribute), &
                                          c_loc(error))
      if (error%status /= forebay_ok) return
      if (text_at(attribute%name) == name) return
      index = index + 1
    end do
  end subroutine

  subroutine stored_get_attribute(self, name, values, field, stat, errmsg)
    class(forebay_step_reader), intent(in) :: self
    character(len=*), intent(in) :: name
    type(*), intent(inout), asynchronous :: values(..)
    character(len=*), intent(in), optional :: field
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    integer(int64), pointer :: shape(:)
    integer(c_int8_t), pointer :: from(:), into(:)
    type(c_array) :: array
    type(c_attribute) :: attribute
    type(forebay_error) :: error
    integer(int64) :: elements
    error%status = forebay_fortran_describe(values, array, error)
    if (error%status == forebay_ok) call find_attribute(self, field, name, attribute, error)
    if (error%status == forebay_ok) then
      call c_f_pointer(attribute%shape, shape, [attribute%dimensions])
      elements = product(array%count(:array%dimensions))
      if (is_unsigned_of(attribute%type, array%type)) attribute%type = array%type
      if (.not. array%is_packed .or. attribute%type /= array%type .or. &
          elements /= product(shape)) then
        call refuse('get the attribute '//name//': its type or size is not that of the values', &
                    error)
      else
        call c_f_pointer(attribute%data, from, [elements*array%element_bytes])
        call c_f_pointer(array%data, into, [elements*array%element_bytes])
        into = from
      end if
    end if
    call forebay_finish(error, stat, errmsg)
  end subroutine

  subroutine stored_get_text(self, name, text, field, stat, errmsg)
    class(forebay_step_reader), intent(in) :: self
    character(len=*), intent(in) :: name
    character(len=:), allocatable, intent(out) :: text
    character(len=*), intent(in), optional :: field
    integer, intent(out), optional :: stat; character(len=*), intent(inout), optional :: errmsg
    type(c_attribute) :: attribute
    type(forebay_error) :: error
    call find_attribute(self, field, name, attribute, error)
    if (error%status == forebay_ok .and. &
        (attribute%type /= type_text .or. attribute%dimensions /= 0)) &
      call refuse('get the attribute '//name//': it is not a text', error)
    if (error%status == forebay_ok) text = text_at(attribute%data)
    call forebay_finish(error, stat, errmsg)
  end subroutine
end module
