// SPDX-License-Identifier: Apache-2.0
// MemoryHandle: identifies memory of one process to another one of the node. Plain numbers, sent in
// a message instead of the bytes. The receiver maps the memory, and checks that the handle still
// refers to the same memory.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>

#include "base/descriptor.hpp"

namespace forebay::shm {

/// Memory of a process, by its descriptor in that process. Valid on the same node only. The inode
/// distinguishes it from memory that had the same numbers at other times.
struct MemoryHandle {
  std::uint32_t process = 0;
  std::int32_t descriptor = -1;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;  ///< the full size

  friend bool operator==(const MemoryHandle&, const MemoryHandle&) noexcept = default;
};

/// A position in such memory.
struct MemoryLocation {
  MemoryHandle memory;
  std::uint64_t offset_bytes = 0;
};

/// The handle of memory of this process. Valid while the descriptor is open.
Result<MemoryHandle> memory_handle_of(const Descriptor& memfd);

/// Opens the memory of `handle`, in this process or another one of the node, for reading and
/// writing. Fails with kPermission if this process may not access that one, with kNotFound if the
/// process or its descriptor is gone. Fails with kDamage if the numbers refer to other memory now,
/// with kInvalidArgument if the memory could shrink later.
Result<Descriptor> open_memory_handle(const MemoryHandle& handle);

}  // namespace forebay::shm
