// SPDX-License-Identifier: Apache-2.0
// The residency table: for each splinter of a session one word that says whether its bytes are in
// the window. A task that finds its splinter ready pins it with one atomic addition and never meets
// an agent. Plain memory without pointers, so that it can lie in shared memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace forebay::shm {

enum class Residency : std::uint8_t {
  kAbsent,   ///< not in the window and not asked for
  kWanted,   ///< asked for; no agent has started on it
  kLoading,  ///< storage is reading it into its slot
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

/// One splinter's entry. `word` packs four fields, so that pinning and releasing are single
/// additions:
///
///     bits  0..31  bytes handed out since it was loaded   (release adds them)
///     bits 32..47  pins: views and copies in progress
///     bits 48..61  generation: counts the loads, so that a re-read can be told
///     bits 62..63  Residency
///
/// Pins and bytes are changed by tasks at any time; residency only by whoever holds the session's
/// lock. A slot is taken away only in the same atomic step that finds no pin, so a pinned
/// splinter's bytes never change.
class Splinter {
 public:
  struct Word {
    std::uint64_t bits = 0;
    Residency residency() const noexcept { return static_cast<Residency>(bits >> kStateShift); }
    std::uint32_t pins() const noexcept { return (bits >> kPinShift) & 0xFFFFU; }
    std::uint32_t served_bytes() const noexcept { return static_cast<std::uint32_t>(bits); }
    std::uint32_t generation() const noexcept { return (bits >> kGenerationShift) & 0x3FFFU; }
  };

  /// Pins that may be held at one time; a task that would be the next one is told that the splinter
  /// is not there.
  static constexpr std::uint32_t kPinsMax = 0x7FFF;

  /// In one order with everything else that tells agents and tasks about each other: an agent that
  /// says that it rests and then looks sees every release that did not see it rest.
  Word load() const noexcept { return {word_.load(std::memory_order_seq_cst)}; }

  /// Pins the splinter if it is ready. Any thread.
  bool try_pin() noexcept {
    const Word seen = load();
    if (seen.residency() != Residency::kReady || seen.pins() >= kPinsMax) return false;
    const Word before{word_.fetch_add(kPin, std::memory_order_acquire)};
    if (before.residency() == Residency::kReady) return true;
    word_.fetch_sub(kPin, std::memory_order_relaxed);
    return false;
  }

  /// Releases a pin after handing out `bytes`; returns the word as it is afterwards. Any thread.
  /// The total stops counting at the splinter's size: it says "all of it was served", not how
  /// often.
  Word unpin(std::uint32_t bytes) noexcept {
    const std::uint64_t counted = load().served_bytes() < kServedMax ? bytes : 0;
    return {word_.fetch_add(counted - kPin, std::memory_order_seq_cst) + counted - kPin};
  }

  /// Only while pinned, or under the session's lock.
  std::uint32_t slot() const noexcept { return slot_; }
  ValidBytes valid() const noexcept {
    const std::uint64_t packed = valid_.load(std::memory_order_acquire);
    return {static_cast<std::uint32_t>(packed), static_cast<std::uint32_t>(packed >> 32U)};
  }

  // The rest is called under the session's lock.

  void set_residency(Residency to) noexcept {
    const auto from = static_cast<std::uint64_t>(load().residency());
    word_.fetch_add((static_cast<std::uint64_t>(to) - from) << kStateShift,
                    std::memory_order_acq_rel);
  }
  void set_slot(std::uint32_t slot) noexcept { slot_ = slot; }
  void set_valid(ValidBytes valid) noexcept {
    valid_.store(valid.first | static_cast<std::uint64_t>(valid.last) << 32U,
                 std::memory_order_release);
  }
  /// Forgets the bytes handed out so far and returns how many they were.
  std::uint32_t forget_served() noexcept {
    const std::uint32_t served = load().served_bytes();
    word_.fetch_sub(served, std::memory_order_relaxed);
    return served;
  }

  /// Takes the slot away from a ready splinter: absent, nothing served, next generation. Returns
  /// the bytes that had been served, or nothing if it is pinned.
  std::optional<std::uint32_t> try_evict() noexcept {
    Word seen = load();
    while (seen.residency() == Residency::kReady && seen.pins() == 0) {
      const std::uint64_t next_generation = (seen.generation() + 1U) & 0x3FFFU;
      if (word_.compare_exchange_weak(seen.bits, next_generation << kGenerationShift,
                                      std::memory_order_acq_rel, std::memory_order_acquire)) {
        return seen.served_bytes();
      }
    }
    return std::nullopt;
  }

 private:
  static constexpr unsigned kPinShift = 32;
  static constexpr unsigned kGenerationShift = 48;
  static constexpr unsigned kStateShift = 62;
  static constexpr std::uint64_t kPin = 1ULL << kPinShift;
  static constexpr std::uint32_t kServedMax = 1U << 30U;  // far from the pins, above any splinter

  std::atomic<std::uint64_t> word_{0};
  std::atomic<std::uint64_t> valid_{0};
  std::uint32_t slot_ = 0;
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(sizeof(Splinter) <= 24);

}  // namespace forebay::shm
