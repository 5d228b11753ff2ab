// SPDX-License-Identifier: Apache-2.0
// PeerMemoryCache: memory of other processes of the node, mapped by its handle. With it a writer
// writes bytes that other ranks have staged, without receiving them. Mappings are cached, because
// the same memory is used in each step. The cache is bounded.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>

#include "shm/memory_handle.hpp"

namespace forebay::write {

using shm::MemoryHandle;

/// Bytes of another process. They stay mapped until `mapping` and its copies are released, even if
/// that process ends.
struct PeerBytes {
  std::span<std::byte> bytes;
  std::shared_ptr<const void> mapping;
};

/// Any thread.
class PeerMemoryCache {
 public:
  struct Bounds {
    std::size_t mappings = 256;                      ///< that are cached
    std::uint64_t bytes = std::uint64_t{64} << 30U;  ///< of addresses that are cached
  };

  PeerMemoryCache() noexcept : PeerMemoryCache(Bounds{}) {}
  explicit PeerMemoryCache(const Bounds& bounds) noexcept : bounds_(bounds) {}
  PeerMemoryCache(const PeerMemoryCache&) = delete;
  PeerMemoryCache& operator=(const PeerMemoryCache&) = delete;

  /// Maps `range` of the memory that `handle` identifies, in this process or another one. Its owner
  /// can still write to the bytes or reuse them; the messages about them must prevent that. Fails
  /// with kPermission if this process cannot access that one; then bytes must be sent. Fails with
  /// kNotFound if the process has ended, and with kDamage if the handle now identifies something
  /// else. Fails with kOutOfRange for a range outside the memory, and with kLimit if there are no
  /// addresses or descriptors.
  Result<PeerBytes> map(const MemoryHandle& handle, const ByteRange& range);

  /// Number of cached mappings.
  std::size_t mapping_count() const;

 private:
  class Mapping;
  std::shared_ptr<const Mapping> find(const MemoryHandle& handle);
  std::shared_ptr<const Mapping> insert(std::shared_ptr<const Mapping> made);

  const Bounds bounds_;
  mutable std::mutex mutex_;
  std::list<std::shared_ptr<const Mapping>> cached_;  // most recently used first
  std::uint64_t cached_bytes_ = 0;
};

}  // namespace forebay::write
