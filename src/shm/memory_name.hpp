// SPDX-License-Identifier: Apache-2.0
// MemoryName: how one process of a node tells another one which memory it means. Plain numbers that
// travel in a message, so that bytes need not; the receiver maps what the name stands for, and
// finds out whether it still stands for it.
#pragma once

#include <forebay/error.hpp>

#include <cstdint>

#include "base/descriptor.hpp"

namespace forebay::shm {

/// Memory of a process, by its descriptor there. Means something on the same node only. The inode
/// tells apart what had the same numbers at other times.
struct MemoryName {
  std::uint32_t process = 0;
  std::int32_t descriptor = -1;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;  ///< its whole size

  friend bool operator==(const MemoryName&, const MemoryName&) noexcept = default;
};

/// A place in such memory.
struct MemoryPlace {
  MemoryName memory;
  std::uint64_t offset_bytes = 0;
};

/// The name of memory of this process. It holds as long as the descriptor is open.
Result<MemoryName> name_of_memory(const Descriptor& memfd);

/// Opens what `name` stands for, in this process or another one of the node, for reading and
/// writing. Fails with kPermission if this process may not look into that one, with kNotFound if
/// the process or its descriptor is gone, and with kDamage if the numbers stand for something else
/// by now.
Result<Descriptor> open_named_memory(const MemoryName& name);

}  // namespace forebay::shm
