// SPDX-License-Identifier: Apache-2.0
// The memory of a job in the address space of a program: its head, and the rings of its threads.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace/run_memory.hpp"

namespace forebay::interpose {

/// Restores errno at the end.
class ErrnoGuard {
 public:
  ErrnoGuard() noexcept : kept_(errno) {}
  ~ErrnoGuard() { errno = kept_; }
  ErrnoGuard(const ErrnoGuard&) = delete;
  ErrnoGuard& operator=(const ErrnoGuard&) = delete;

 private:
  const int kept_;
};

// System calls without the functions that this library wraps.

inline int open_file(const char* path, int flags) noexcept {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, 0));
}

inline void close_file(int descriptor) noexcept { ::syscall(SYS_close, descriptor); }

using PathBuffer = std::array<char, trace::RunOpen::kPathMax + 1>;
/// The path of a descriptor, or of the working directory (AT_FDCWD). Its length, at most the size
/// of the buffer, which a longer path fills; 0: unknown.
std::size_t read_link_of(int descriptor, PathBuffer& path) noexcept;

/// Maps the head of the memory. Null if it is not that of an agent, or if the program may use only
/// a limited address space.
trace::RunMemory* map_memory(const char* path) noexcept;
/// The ring with this number, mapped at the first call; null if that fails. Any thread.
trace::RunRing* map_ring(trace::RunMemory& shared, std::uint32_t number) noexcept;

}  // namespace forebay::interpose
