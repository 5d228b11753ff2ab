// SPDX-License-Identifier: Apache-2.0
// The residency table: for each splinter of a session, whether its bytes are in the window, and in
// which slot. The reference counts (RefCounts): which client has pinned which slot, and the
// bytes served from it. A task whose splinter is ready pins the slot with one atomic addition,
// without the agent. Plain memory without pointers, which can be shared
// (docs/formats/shared-memory.md).
//
// Only the agent's process writes entries of the table, under the session's lock. Each client
// writes only its own row of the reference counts. So every pin has an owner, and the agent
// releases the pins of a dead client by clearing those of its row.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay::shm {

enum class Residency : std::uint8_t {
  kAbsent,     ///< not in the window and not requested
  kRequested,  ///< requested; no agent has started on it
  kChanging,   ///< storage is reading it into its slot, or it is being evicted
  kReady,      ///< in its slot, as far as valid() states
};

/// Bytes of a splinter: [first, end), counted from its start.
struct SplinterPart {
  std::uint32_t first = 0;
  std::uint32_t end = 0;

  bool covers(const SplinterPart& part) const noexcept {
    return first <= part.first && part.end <= end;
  }
  std::uint32_t size() const noexcept { return end - first; }
  friend bool operator==(const SplinterPart&, const SplinterPart&) = default;
};

/// The residency table's entry of one splinter. RefCounts::pin() and RefCounts::try_evict()
/// require that all accesses to `word_` and to SlotRefCount are sequentially consistent. Only the
/// check of kPinsMax is relaxed.
///
///     bits  0..31  slot
///     bits 32..61  generation: number of evictions, modulo 2^30. pin() detects with it that the
///                  splinter was evicted and loaded between its two reads of the entry
///     bits 62..63  Residency
class ResidencyEntry {
 public:
  struct Word {
    std::uint64_t bits = 0;
    Residency residency() const noexcept { return static_cast<Residency>(bits >> kStateShift); }
    std::uint32_t slot() const noexcept { return static_cast<std::uint32_t>(bits); }
    std::uint32_t generation() const noexcept {
      return static_cast<std::uint32_t>(bits >> kGenerationShift) & kGenerationMask;
    }
    friend bool operator==(const Word&, const Word&) = default;
  };

  Word load() const noexcept { return {word_.load(std::memory_order_seq_cst)}; }
  std::uint32_t slot() const noexcept { return load().slot(); }
  SplinterPart valid() const noexcept {
    const std::uint64_t packed = valid_.load(std::memory_order_acquire);
    return {static_cast<std::uint32_t>(packed), static_cast<std::uint32_t>(packed >> 32U)};
  }

  // The following calls require the session's lock. Only the agent's process makes them.

  void set_residency(Residency to) noexcept {
    const Word now = load();
    store(to, now.generation(), now.slot());
  }
  void set_slot(std::uint32_t slot) noexcept {
    const Word now = load();
    store(now.residency(), now.generation(), slot);
  }
  /// Marks an evicted splinter as absent, and increments its generation.
  void mark_absent() noexcept { store(Residency::kAbsent, load().generation() + 1, 0); }
  void set_valid(SplinterPart valid) noexcept {
    valid_.store(valid.first | static_cast<std::uint64_t>(valid.end) << 32U,
                 std::memory_order_release);
  }

 private:
  void store(Residency residency, std::uint32_t generation, std::uint32_t slot) noexcept {
    const std::uint64_t upper = static_cast<std::uint64_t>(residency) << kStateShift |
                                std::uint64_t{generation & kGenerationMask} << kGenerationShift;
    word_.store(upper | slot, std::memory_order_seq_cst);
  }

  static constexpr unsigned kGenerationShift = 32;
  static constexpr unsigned kStateShift = 62;
  static constexpr std::uint32_t kGenerationMask = 0x3FFFFFFF;

  std::atomic<std::uint64_t> word_{0};
  std::atomic<std::uint64_t> valid_{0};
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(sizeof(ResidencyEntry) == 16);

/// Pins and served bytes of one client on one slot.
///
///     bits  0..15  pins: views and copies in progress
///     bits 16..63  bytes served since the session began, modulo 2^48
class SlotRefCount {
 public:
  struct Word {
    std::uint64_t bits = 0;
    std::uint32_t pins() const noexcept { return bits & kPinMask; }
    std::uint64_t served_bytes() const noexcept { return bits >> kServedShift; }
  };

  /// Pins that a client may hold on a slot at a time; one more fails as if the splinter were
  /// absent. Far below 2^16, since several threads may pass the check at once.
  static constexpr std::uint32_t kPinsMax = 0x7FFF;

  Word load() const noexcept { return {word_.load(std::memory_order_seq_cst)}; }
  /// False at kPinsMax.
  bool add_pin() noexcept {
    if (Word{word_.load(std::memory_order_relaxed)}.pins() >= kPinsMax) return false;
    word_.fetch_add(1, std::memory_order_seq_cst);
    return true;
  }
  /// Removes a pin after serving `bytes`; returns the word afterwards.
  Word remove_pin(std::uint64_t bytes) noexcept {
    const std::uint64_t change = (bytes << kServedShift) - 1;
    return {word_.fetch_add(change, std::memory_order_seq_cst) + change};
  }
  /// Removes all pins. For a client that has ended.
  void drop_pins() noexcept { word_.store(load().bits & ~kPinMask, std::memory_order_seq_cst); }

 private:
  static constexpr unsigned kServedShift = 16;
  static constexpr std::uint64_t kPinMask = 0xFFFF;

  std::atomic<std::uint64_t> word_{0};
};

static_assert(sizeof(SlotRefCount) == 8);

/// The reference counts of all clients of a session: a row for each client, a column for each slot.
/// Does not own the memory, which must outlive this object.
class RefCounts {
 public:
  /// Counts in 128 bytes. A row begins at a multiple of this number, to avoid false sharing.
  static constexpr std::uint32_t kCountsPerAlignment = 128 / sizeof(SlotRefCount);

  RefCounts() = default;
  /// `counts` has entry_count(rows, slots) entries, all zero to begin with.
  RefCounts(std::span<SlotRefCount> counts, std::uint32_t rows, std::uint32_t slots) noexcept
      : counts_(counts.data()), clients_(rows), entries_per_client_(entries_per_client(slots)) {}

  static std::size_t entry_count(std::uint32_t rows, std::uint32_t slots) noexcept {
    return std::size_t{rows} * entries_per_client(slots);
  }

  std::uint32_t clients() const noexcept { return clients_; }
  SlotRefCount& at(std::uint32_t client, std::uint32_t slot) const noexcept {
    return counts_[client * entries_per_client_ + slot];
  }

  /// kRetracted: a pin was added and removed again. try_evict() may have seen it, and failed.
  enum class PinResult : std::uint8_t { kPinned, kNotReady, kRetracted };
  /// Pins the slot of `entry` for `client` if the splinter is ready and the client has fewer than
  /// kPinsMax pins on the slot. `entry` keeps that slot until remove_pin(). Any thread.
  PinResult pin(const ResidencyEntry& entry, std::uint32_t client) const noexcept {
    const ResidencyEntry::Word seen = entry.load();
    if (seen.residency() != Residency::kReady) return PinResult::kNotReady;
    SlotRefCount& count = at(client, seen.slot());
    if (!count.add_pin()) return PinResult::kNotReady;
    if (entry.load() == seen) return PinResult::kPinned;
    count.remove_pin(0);
    return PinResult::kRetracted;
  }

  /// Pins of all clients on a slot.
  std::uint32_t pins(std::uint32_t slot) const noexcept {
    std::uint32_t sum = 0;
    for (std::uint32_t client = 0; client < clients_; ++client)
      sum += at(client, slot).load().pins();
    return sum;
  }
  /// Bytes that all clients were served from a slot, modulo 2^48.
  std::uint64_t served_bytes(std::uint32_t slot) const noexcept {
    std::uint64_t sum = 0;
    for (std::uint32_t client = 0; client < clients_; ++client)
      sum += at(client, slot).load().served_bytes();
    return sum & kServedMask;
  }
  /// now - before, modulo 2^48.
  static std::uint64_t wrapped_difference(std::uint64_t now, std::uint64_t before) noexcept {
    return (now - before) & kServedMask;
  }

  /// Evicts a ready splinter from its slot: see ResidencyEntry::mark_absent(). False if it is
  /// pinned or not ready. Requires the session's lock.
  bool try_evict(ResidencyEntry& entry) const noexcept {
    const ResidencyEntry::Word word = entry.load();
    if (word.residency() != Residency::kReady || pins(word.slot()) > 0) return false;
    entry.set_residency(Residency::kChanging);
    // pin() retracts a pin that is added from here on, as it sees kChanging. A pin that was added
    // before is counted here.
    if (pins(word.slot()) > 0) {
      entry.set_residency(Residency::kReady);
      return false;
    }
    entry.mark_absent();
    return true;
  }

 private:
  static constexpr std::uint64_t kServedMask = (1ULL << 48U) - 1;
  static std::size_t entries_per_client(std::uint32_t slots) noexcept {
    return (std::size_t{slots} + kCountsPerAlignment - 1) / kCountsPerAlignment *
           kCountsPerAlignment;
  }

  SlotRefCount* counts_ = nullptr;
  std::uint32_t clients_ = 0;
  std::size_t entries_per_client_ = 0;
};

}  // namespace forebay::shm
