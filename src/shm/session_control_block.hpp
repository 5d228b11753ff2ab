// SPDX-License-Identifier: Apache-2.0
// SessionControlBlock: the state that a session's agent and its clients share, in two pieces of
// memory. Only the agent's process writes the *table*, so others may map it read-only. In the
// *reference counts* each client writes its own row. Neither has pointers.
// docs/formats/shared-memory.md has the layout.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "shm/residency.hpp"

namespace forebay::shm {

/// Event for which the agent waits when it can begin no load. A client that removes its last pin on
/// a slot checks whether this caused the event, and then notifies the agent.
enum class MemoryWait : std::uint32_t {
  kNone,
  kUntilConsumed,  ///< all bytes of a slot were served
  kUntilReleased,  ///< a client has removed its last pin on any slot
};

/// Sizes of a control block.
struct ControlBlockShape {
  std::uint32_t splinters = 0;
  std::uint32_t slots_max = 0;
  std::uint32_t clients = 1;

  friend bool operator==(const ControlBlockShape&, const ControlBlockShape&) = default;
};

/// The first bytes of the table.
struct TableHeader {
  std::uint64_t magic = 0;
  std::uint32_t version = 0;
  ControlBlockShape shape;
  /// Current number of slots of the window; it only grows.
  alignas(128) std::atomic<std::uint32_t> slots{0};
  std::atomic<MemoryWait> memory_wait{MemoryWait::kNone};
  /// Totals for reports.
  alignas(128) std::atomic<std::uint64_t> bytes_read{0};
  std::atomic<std::uint64_t> bytes_from_nodes{0};
  std::atomic<std::uint64_t> splinters_loaded{0};
  std::atomic<std::uint64_t> splinters_reread{0};
  std::atomic<std::uint64_t> window_bytes{0};
  std::atomic<std::uint64_t> readahead_bytes{0};
  std::atomic<std::uint64_t> bytes_pushed{0};
  std::atomic<std::uint64_t> bytes_wasted{0};
  /// Recent mean time of a load; 0: unknown.
  std::atomic<std::int64_t> load_latency_ns{0};
};

/// Does not own the memory, which must outlive this object. The thread rules are those of its
/// parts.
class SessionControlBlock {
 public:
  static constexpr std::uint64_t kMagic = 0x736b6f6f42796246;  // "FbyBooks"
  static constexpr std::uint32_t kVersion = 2;
  /// Alignment of both pieces of memory.
  static constexpr std::size_t kAlignment = 128;

  static std::size_t table_bytes(const ControlBlockShape& shape) noexcept {
    return offsets_of(shape).table_bytes;
  }
  static std::size_t ref_count_bytes(const ControlBlockShape& shape) noexcept {
    return RefCounts::entry_count(shape.clients, shape.slots_max) * sizeof(SlotRefCount);
  }

  SessionControlBlock() = default;
  /// Creates a control block in zeroed memory of at least these sizes.
  static SessionControlBlock create(const ControlBlockShape& shape,
                                    std::span<std::byte> table,
                                    std::span<std::byte> ref_count_memory) noexcept;
  /// Attaches to a control block that another process created. `table` may be mapped read-only.
  /// False if the memory holds no control block, another version, or a shape that exceeds it.
  bool attach(std::span<std::byte> table, std::span<std::byte> ref_count_memory) noexcept;

  TableHeader& header() const noexcept { return *header_; }
  std::span<ResidencyEntry> splinters() const noexcept {
    return {splinters_, header_->shape.splinters};
  }
  ResidencyEntry& operator[](std::uint32_t splinter) const noexcept { return splinters_[splinter]; }
  const RefCounts& ref_counts() const noexcept { return ref_counts_; }

  /// Bytes served from a slot since reset_served_bytes().
  std::uint64_t served_bytes(std::uint32_t slot) const noexcept {
    return RefCounts::wrapped_difference(ref_counts_.served_bytes(slot),
                                         served_baseline_[slot].load(std::memory_order_relaxed));
  }
  /// Restarts the count of a slot from zero, and returns the previous count. Requires the session's
  /// lock, as it writes the table.
  std::uint64_t reset_served_bytes(std::uint32_t slot) const noexcept {
    const std::uint64_t now = ref_counts_.served_bytes(slot);
    return RefCounts::wrapped_difference(
        now, served_baseline_[slot].exchange(now, std::memory_order_relaxed));
  }

 private:
  struct Offsets {
    std::size_t splinters = 0;
    std::size_t served_baseline = 0;
    std::size_t table_bytes = 0;
  };
  static Offsets offsets_of(const ControlBlockShape& shape) noexcept;
  void bind_memory(const ControlBlockShape& shape,
                   std::span<std::byte> table,
                   std::span<std::byte> ref_count_memory) noexcept;

  TableHeader* header_ = nullptr;
  ResidencyEntry* splinters_ = nullptr;
  std::atomic<std::uint64_t>* served_baseline_ = nullptr;
  RefCounts ref_counts_;
};

}  // namespace forebay::shm
