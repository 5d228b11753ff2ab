// SPDX-License-Identifier: Apache-2.0
// NodeMemory: memory for direct transfers, which other processes of the node may map by its handle.
// The first access to fresh memory costs more than writing its bytes to storage. So it can be
// faulted in ahead of use, with huge pages, a part at a time.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/descriptor.hpp"
#include "shm/memory_handle.hpp"

namespace forebay::shm {

/// Alignment of addresses, offsets and sizes of direct transfers.
inline constexpr std::uint64_t kDirectAlignment = 4096;

/// A memfd and its mapping, at an address aligned for huge pages. Moving it keeps the address. Not
/// thread-safe, except prefault() of ranges without a common byte.
class NodeMemory {
 public:
  NodeMemory() noexcept = default;
  NodeMemory(NodeMemory&& other) noexcept { swap(other); }
  NodeMemory& operator=(NodeMemory&& other) noexcept {
    NodeMemory taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~NodeMemory();

  /// `size_bytes` (> 0, a multiple of 4 KiB) of zeros, without pages yet. `label` is shown in
  /// /proc. Fails as create_memfd() does, and with kLimit if addresses are exhausted.
  static Result<NodeMemory> create(const char* label, std::uint64_t size_bytes);

  /// Allocates the memory of `range` (multiples of 4 KiB, inside this memory) now. No other access
  /// to the range is allowed meanwhile; its content is kept. Blocks, at most about 0.1 ms for a
  /// MiB. Uses huge pages if the machine has them and the range contains whole ones. Fails with
  /// kLimit if the range has 4 MiB or more and the machine has less available memory; the Error
  /// states how much it has. Otherwise fails as reserve_memory() does.
  Status prefault(const ByteRange& range);

  /// Locks all of it in memory (mlock()). Fails with kLimit, naming RLIMIT_MEMLOCK.
  Status lock_memory();

  /// Frees the memory even if other processes still map it; they read zeros. The mapping stays.
  void release_pages() noexcept;

  std::span<std::byte> bytes() const noexcept { return {base_, size_bytes_}; }
  const MemoryHandle& handle() const noexcept { return handle_; }

 private:
  void swap(NodeMemory& other) noexcept;

  Descriptor descriptor_;
  MemoryHandle handle_;
  std::byte* base_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace forebay::shm
