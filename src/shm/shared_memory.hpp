// SPDX-License-Identifier: Apache-2.0
// SharedMemory: memory of a fixed size that processes of a node share, for control blocks, tables
// and rings. Its content is addressed by offset only: each process maps it at another address.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/descriptor.hpp"
#include "shm/memfd.hpp"

namespace forebay::shm {

/// A mapping and the descriptor of its memory, which may be passed on. The memory is freed when the
/// last process has dropped its mapping and its descriptor. Moving it keeps the addresses. Not
/// thread-safe.
class SharedMemory {
 public:
  SharedMemory() noexcept = default;
  SharedMemory(SharedMemory&& other) noexcept { swap(other); }
  SharedMemory& operator=(SharedMemory&& other) noexcept {
    SharedMemory taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~SharedMemory();

  /// `size_bytes` (> 0) of zeros, reserved now and mapped for reading and writing. Fails as
  /// create_memfd() and reserve_memory() do; then nothing is left behind.
  static Result<SharedMemory> create(const char* name, std::uint64_t size_bytes);

  /// Maps the first `size_bytes` of memory shared by another process. Fails with kDamage if it has
  /// fewer, with kInvalidArgument if `size_bytes` is 0 or the memory could shrink later. Fails with
  /// kPermission if it was shared read-only and `protection` is kReadWrite.
  static Result<SharedMemory> attach(Descriptor descriptor,
                                     std::uint64_t size_bytes,
                                     Protection protection);

  /// The mapping. A write to memory attached with kReadOnly raises SIGSEGV.
  std::span<std::byte> bytes() const noexcept { return {base_, size_bytes_}; }

  const Descriptor& descriptor() const noexcept { return descriptor_; }
  /// A descriptor to pass to another process; see share_memfd().
  Result<Descriptor> share(Protection protection) const;

 private:
  explicit SharedMemory(Descriptor descriptor) noexcept : descriptor_(std::move(descriptor)) {}
  void swap(SharedMemory& other) noexcept;
  Status map(std::uint64_t size_bytes, Protection protection);

  Descriptor descriptor_;
  std::byte* base_ = nullptr;
  std::size_t size_bytes_ = 0;
};

}  // namespace forebay::shm
