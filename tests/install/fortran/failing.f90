! SPDX-License-Identifier: Apache-2.0
!> Opens a file that does not exist, without `stat`; or copies a handle.
program failing
  use forebay
  implicit none
  type(forebay_runtime) :: runtime, copy
  type(forebay_session) :: session
  call runtime%create()
  if (command_argument_count() > 0) copy = runtime
  call session%open(runtime, 'missing')
end program
