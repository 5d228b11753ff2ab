// SPDX-License-Identifier: Apache-2.0
#include "shm/process_watch.hpp"

#include <cerrno>
#include <string>

#include <sys/syscall.h>
#include <unistd.h>

namespace forebay::shm {

namespace {

// Linux 5.3; the same number on all architectures.
#ifdef SYS_pidfd_open
constexpr long kPidfdOpen = SYS_pidfd_open;
#else
constexpr long kPidfdOpen = 434;
#endif

}  // namespace

Result<Descriptor> watch_process(pid_t pid) {
  // Closed on exec by default.
  Descriptor descriptor(static_cast<int>(::syscall(kPidfdOpen, pid, 0)));
  if (descriptor) return descriptor;
  const int error_number = errno;
  const std::string operation = "watch process " + std::to_string(pid);
  if (error_number == ESRCH) {
    return failure(
        {.kind = ErrorClass::kNotFound, .operation = operation, .error_number = error_number});
  }
  return failure(system_error({.operation = operation}, error_number));
}

}  // namespace forebay::shm
