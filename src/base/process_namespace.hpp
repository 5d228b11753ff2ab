// SPDX-License-Identifier: Apache-2.0
// process_namespace(): in which a process number is valid. The same number is another process in
// another container.
#pragma once

#include <cstdint>

#include <sys/stat.h>

namespace forebay {

/// The inode number of the PID namespace of the caller; 0 if unknown.
inline std::uint64_t process_namespace() noexcept {
  struct stat found{};
  return ::stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

}  // namespace forebay
