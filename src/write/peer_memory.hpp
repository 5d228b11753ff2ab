// SPDX-License-Identifier: Apache-2.0
// PeerMemory: memory of other processes of the node, mapped by its name. A writer that stores what
// the others have staged so never gets it sent. Mappings are kept, since the same memory is named
// step after step, and bounded.
#pragma once

#include <forebay/error.hpp>
#include <forebay/range.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>

#include "shm/memory_name.hpp"

namespace forebay::write {

using shm::MemoryName;

/// Bytes of another process. They stay mapped as long as this is held, even if that process ends.
/// Copies share the mapping.
struct PeerBytes {
  std::span<std::byte> bytes;
  std::shared_ptr<const void> mapping;
};

/// Any thread may call anything.
class PeerMemory {
 public:
  struct Bounds {
    std::size_t mappings = 256;                      ///< that are kept
    std::uint64_t bytes = std::uint64_t{64} << 30U;  ///< of addresses that are kept
  };

  PeerMemory() noexcept : PeerMemory(Bounds{}) {}
  explicit PeerMemory(const Bounds& bounds) noexcept : bounds_(bounds) {}
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  /// The bytes of `range` in what `name` stands for, in this process or another one. Nothing keeps
  /// their owner from writing to them, or from using them for something else: that is for messages
  /// to say. Fails with kPermission if this process may not look into that one (then bytes have to
  /// be sent), kNotFound if it is gone, kDamage if the name stands for something else by now,
  /// kOutOfRange for a range outside of it, kLimit if there are no addresses or descriptors.
  Result<PeerBytes> map(const MemoryName& name, const ByteRange& range);

  /// Keeps no mappings of that process; those that are held stay.
  void forget(std::uint32_t process) noexcept;

  /// Keeps no mapping of that memory: its owner is about to give it up, which has no effect as long
  /// as somebody maps it.
  void forget(const MemoryName& name) noexcept;

  /// How many are kept.
  std::size_t mapping_count() const;

 private:
  class Mapping;
  template <class Which>
  void forget_if(const Which& which) noexcept;
  std::shared_ptr<const Mapping> find(const MemoryName& name);
  std::shared_ptr<const Mapping> keep(std::shared_ptr<const Mapping> made);

  const Bounds bounds_;
  mutable std::mutex mutex_;
  std::list<std::shared_ptr<const Mapping>> kept_;  // last used first
  std::uint64_t kept_bytes_ = 0;
};

}  // namespace forebay::write
