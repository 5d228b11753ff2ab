// SPDX-License-Identifier: Apache-2.0
// BackendChoice: the system interface of direct transfers. Options of a Runtime and the storage
// module share this type.
#pragma once

#include <cstdint>
#include <string_view>

namespace forebay {

/// The system interface of direct reads and writes. Buffered files are always transferred by
/// threads.
enum class BackendChoice : std::uint8_t {
  kAuto,     ///< io_uring if it works, else threads
  kIoUring,  ///< io_uring or an Error
  kThreads,  ///< a pool of threads
  kAio,      ///< POSIX AIO, for comparison: one transfer of a file at a time; never chosen by kAuto
};

/// "auto", "io_uring", "threads" or "aio", as in settings and reports.
constexpr std::string_view name_of(BackendChoice choice) noexcept {
  switch (choice) {
    case BackendChoice::kIoUring:
      return "io_uring";
    case BackendChoice::kThreads:
      return "threads";
    case BackendChoice::kAio:
      return "aio";
    case BackendChoice::kAuto:
      break;
  }
  return "auto";
}

}  // namespace forebay
