// SPDX-License-Identifier: Apache-2.0
// The residency table: for each splinter of a session, whether its bytes are in the window and in
// which slot; and the ledger: who holds which slot, and how much of it was handed out. A task that
// finds its splinter ready pins the slot with one atomic addition and never meets an agent. Plain
// memory without pointers, so that it can lie in shared memory (docs/formats/arena.md).
//
// Entries of the table are written by the agent's side alone, under the session's lock; a row of
// the ledger is written by its client alone. So whatever a client holds has an owner, and what a
// client that died held is let go by forgetting its row.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace forebay::shm {

enum class Residency : std::uint8_t {
  kAbsent,   ///< not in the window and not asked for
  kWanted,   ///< asked for; no agent has started on it
  kLoading,  ///< storage is reading it into its slot, or it is about to leave
  kReady,    ///< in its slot, as far as `valid` says
};

/// Which bytes of a splinter are in its slot: [first, last), from the splinter's start.
struct ValidBytes {
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  bool covers(const ValidBytes& part) const noexcept {
    return first <= part.first && part.last <= last;
  }
  std::uint32_t size() const noexcept { return last - first; }
  friend bool operator==(const ValidBytes&, const ValidBytes&) = default;
};

/// One splinter's entry. All loads and stores of `word`, and all those of marks, are in one order
/// (seq_cst): that is what Ledger::pin() and Ledger::try_evict() stand on.
///
///     bits  0..31  slot
///     bits 32..61  generation: counts the loads, so that a re-read can be told
///     bits 62..63  Residency
class Splinter {
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
  ValidBytes valid() const noexcept {
    const std::uint64_t packed = valid_.load(std::memory_order_acquire);
    return {static_cast<std::uint32_t>(packed), static_cast<std::uint32_t>(packed >> 32U)};
  }

  // The rest is called under the session's lock, by the side that reads storage.

  void set_residency(Residency to) noexcept {
    const Word now = load();
    store(to, now.generation(), now.slot());
  }
  void set_slot(std::uint32_t slot) noexcept {
    const Word now = load();
    store(now.residency(), now.generation(), slot);
  }
  /// The splinter has left its slot.
  void leave() noexcept { store(Residency::kAbsent, load().generation() + 1, 0); }
  void set_valid(ValidBytes valid) noexcept {
    valid_.store(valid.first | static_cast<std::uint64_t>(valid.last) << 32U,
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
static_assert(sizeof(Splinter) == 16);

/// What one client has to do with one slot.
///
///     bits  0..15  pins: views and copies in progress
///     bits 16..63  bytes handed out since the session began, modulo 2^48
class Mark {
 public:
  struct Word {
    std::uint64_t bits = 0;
    std::uint32_t pins() const noexcept { return bits & kPinMask; }
    std::uint64_t served_bytes() const noexcept { return bits >> kServedShift; }
  };

  /// Pins that a client may hold on a slot at one time; who would be the next one is told that the
  /// splinter is not there. Far from where pins meet the bytes, as several threads may find room at
  /// once.
  static constexpr std::uint32_t kPinsMax = 0x7FFF;

  Word load() const noexcept { return {word_.load(std::memory_order_seq_cst)}; }
  /// False at kPinsMax.
  bool add_pin() noexcept {
    if (Word{word_.load(std::memory_order_relaxed)}.pins() >= kPinsMax) return false;
    word_.fetch_add(1, std::memory_order_seq_cst);
    return true;
  }
  /// Takes a pin back after handing out `bytes`; returns the mark as it is afterwards.
  Word remove_pin(std::uint64_t bytes) noexcept {
    const std::uint64_t change = (bytes << kServedShift) - 1;
    return {word_.fetch_add(change, std::memory_order_seq_cst) + change};
  }
  /// For a client that is gone.
  void drop_pins() noexcept { word_.store(load().bits & ~kPinMask, std::memory_order_seq_cst); }

 private:
  static constexpr unsigned kServedShift = 16;
  static constexpr std::uint64_t kPinMask = 0xFFFF;

  std::atomic<std::uint64_t> word_{0};
};

static_assert(sizeof(Mark) == 8);

/// The marks of all clients of a session: a row for each, a column for each slot. A view on memory
/// that outlives it.
class Ledger {
 public:
  /// Rows begin on cache lines of their own.
  static constexpr std::uint32_t kRowAlignment = 128 / sizeof(Mark);

  Ledger() = default;
  /// `marks` has size_of(rows, slots) entries, all zero to begin with.
  Ledger(std::span<Mark> marks, std::uint32_t rows, std::uint32_t slots) noexcept
      : marks_(marks.data()), rows_(rows), row_marks_(row_marks(slots)) {}

  static std::size_t size_of(std::uint32_t rows, std::uint32_t slots) noexcept {
    return std::size_t{rows} * row_marks(slots);
  }

  std::uint32_t rows() const noexcept { return rows_; }
  Mark& at(std::uint32_t row, std::uint32_t slot) const noexcept {
    return marks_[row * row_marks_ + slot];
  }

  /// Pins the slot of `entry` for the client of `row` if the splinter is ready; `entry` keeps that
  /// slot until remove_pin(). Any thread. If this fails after a pin was taken back, `retracted`
  /// names the slot: the other side may have seen that pin.
  enum class Pin : std::uint8_t { kHeld, kNotReady, kRetracted };
  Pin pin(const Splinter& entry, std::uint32_t row) const noexcept {
    const Splinter::Word seen = entry.load();
    if (seen.residency() != Residency::kReady) return Pin::kNotReady;
    Mark& mark = at(row, seen.slot());
    if (!mark.add_pin()) return Pin::kNotReady;
    if (entry.load() == seen) return Pin::kHeld;
    mark.remove_pin(0);
    return Pin::kRetracted;
  }

  /// Pins of all clients on a slot.
  std::uint32_t pins(std::uint32_t slot) const noexcept {
    std::uint32_t sum = 0;
    for (std::uint32_t row = 0; row < rows_; ++row)
      sum += at(row, slot).load().pins();
    return sum;
  }
  /// Bytes that all clients were handed out of a slot, modulo 2^48.
  std::uint64_t served_bytes(std::uint32_t slot) const noexcept {
    std::uint64_t sum = 0;
    for (std::uint32_t row = 0; row < rows_; ++row)
      sum += at(row, slot).load().served_bytes();
    return sum & kServedMask;
  }
  static std::uint64_t difference(std::uint64_t now, std::uint64_t before) noexcept {
    return (now - before) & kServedMask;
  }

  /// Takes the slot away from a ready splinter: absent, next generation. False if it is pinned.
  /// Under the session's lock.
  bool try_evict(Splinter& entry) const noexcept {
    const Splinter::Word word = entry.load();
    if (word.residency() != Residency::kReady || pins(word.slot()) > 0) return false;
    entry.set_residency(Residency::kLoading);
    // Whoever pins from here on sees that; whoever did before is seen here.
    if (pins(word.slot()) > 0) {
      entry.set_residency(Residency::kReady);
      return false;
    }
    entry.leave();
    return true;
  }

 private:
  static constexpr std::uint64_t kServedMask = (1ULL << 48U) - 1;
  static std::size_t row_marks(std::uint32_t slots) noexcept {
    return (std::size_t{slots} + kRowAlignment - 1) / kRowAlignment * kRowAlignment;
  }

  Mark* marks_ = nullptr;
  std::uint32_t rows_ = 0;
  std::size_t row_marks_ = 0;
};

}  // namespace forebay::shm
