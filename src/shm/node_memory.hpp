// SPDX-License-Identifier: Apache-2.0
// NodeMemory: memory for data that storage reads or writes directly and that other processes of the
// node may map by its name. Touching fresh memory costs more than writing it out, so it can be
// faulted in ahead of use, with huge pages, a part at a time.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/descriptor.hpp"
#include "shm/memory_name.hpp"

namespace forebay::shm {

/// What direct transfers need of addresses, offsets and sizes.
inline constexpr std::uint64_t kDirectBytes = 4096;

/// A memfd and its mapping, at an address where huge pages fit. Moving it keeps the address. Not
/// thread-safe, but for prefault() of ranges that have no byte in common.
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

  /// `size_bytes` (> 0, a multiple of 4 KiB) of zeros, none of which takes memory yet. `label` is
  /// what people see in /proc. Fails with kLimit if there are no descriptors or addresses.
  static Result<NodeMemory> create(const char* label, std::uint64_t size_bytes);

  /// Takes the memory of `range` (in it, on multiples of 4 KiB) now; nothing may touch it
  /// meanwhile, and what it holds stays.
  /// Blocks, some 0.1 ms for a MiB at most. Where the machine has huge pages and the range holds
  /// whole ones they are used. Fails with kLimit if the machine has not as much left, and then says
  /// how much.
  Status prefault(const ByteRange& range);

  /// Keeps all of it from being swapped out. Fails with kLimit, naming RLIMIT_MEMLOCK.
  Status pin();

  /// Frees the memory though other processes may still map it; they find zeros. The address stays.
  void give_back() noexcept;

  std::span<std::byte> bytes() const noexcept { return {base_, size_bytes_}; }
  const MemoryName& name() const noexcept { return name_; }

 private:
  void swap(NodeMemory& other) noexcept;

  Descriptor descriptor_;
  MemoryName name_;
  std::byte* base_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace forebay::shm
