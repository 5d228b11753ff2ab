// SPDX-License-Identifier: Apache-2.0
// A ring of small messages in shared memory, from one writer to one reader. Each client has its
// own: in a shared one a writer that is killed in the middle would stall all others. Neither side
// trusts what the other one left in the memory: whatever is there, no access is out of bounds.
#pragma once

#include <forebay/error.hpp>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/assert.hpp"

namespace forebay::shm {

/// What two processors do not share: two cache lines, since they are fetched in pairs.
inline constexpr std::size_t kLinesApartBytes = 128;

inline constexpr std::uint64_t kRingCapacityMax = 1U << 20U;

/// What both sides see; zeros are an empty ring. The indices count messages for ever and wrap.
///
/// How a side goes to sleep without missing the other one (Dekker: all four accesses are seq_cst):
/// it sets its flag, looks once more, and sleeps on its doorbell only if there is still nothing.
/// The other side publishes its index, looks at the flag, and takes it down and rings if it is up.
/// A flag lies beside the index that its sleeper reads, for that line is in its hands at that time.
struct RingHeader {
  alignas(kLinesApartBytes) std::atomic<std::uint64_t> tail;  ///< next to write; by the writer
  std::atomic<std::uint32_t> reader_sleeps;
  alignas(kLinesApartBytes) std::atomic<std::uint64_t> head;  ///< next to read; by the reader
  std::atomic<std::uint32_t> writer_waits;                    ///< for room
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(sizeof(RingHeader) == 2 * kLinesApartBytes);

template <class M>
concept RingMessage = std::is_trivially_copyable_v<M> && std::is_default_constructible_v<M>;

/// Memory of a ring with `capacity` messages (a power of two, at most kRingCapacityMax).
template <RingMessage M>
constexpr std::size_t ring_bytes(std::uint64_t capacity) noexcept {
  FOREBAY_ASSERT(std::has_single_bit(capacity));
  FOREBAY_ASSERT(capacity <= kRingCapacityMax);
  return sizeof(RingHeader) + capacity * sizeof(M);
}

/// How an attempt on a ring ended. Not an Error: most attempts of a busy agent find nothing.
enum class RingOutcome : std::uint8_t {
  kDone,
  kFull,         ///< no room to write
  kEmpty,        ///< nothing to read
  kBroken,       ///< the other side left an impossible index; nothing more goes through this ring
  kInterrupted,  ///< the other thing that the caller waits for has happened
};

/// Where a ring lies; checked, see place_ring().
struct RingPlace {
  RingHeader* header = nullptr;
  std::byte* slots = nullptr;
  std::uint64_t capacity = 0;
};

/// Fails with kInvalidArgument unless `memory` is aligned to kLinesApartBytes and exactly the size
/// of a ring of such messages.
Result<RingPlace> place_ring(std::span<std::byte> memory, std::size_t message_bytes);

/// The writing end. One for each ring, attached while the ring is new. One thread at a time.
template <RingMessage M>
class RingWriter {
 public:
  /// `memory` is ring_bytes<M>() zeros, aligned to kLinesApartBytes (a reader may have attached to
  /// it already), and stays mapped as long as this is used.
  static Result<RingWriter> attach(std::span<std::byte> memory) {
    return place_ring(memory, sizeof(M)).map([](RingPlace place) { return RingWriter(place); });
  }

  /// kDone, kFull or kBroken. The reader sees it at once; if it sleeps, take_bell_request() says
  /// so.
  RingOutcome try_push(const M& message) noexcept {
    if (tail_ - head_ == place_.capacity && !look_for_room())
      return is_broken_ ? RingOutcome::kBroken : RingOutcome::kFull;
    std::memcpy(slot(tail_), &message, sizeof(M));
    place_.header->tail.store(++tail_, std::memory_order_seq_cst);
    return RingOutcome::kDone;
  }

  /// True once if the reader has gone to sleep: its bell must be rung now. Ask after each push, or
  /// after a few.
  bool take_bell_request() noexcept {
    return place_.header->reader_sleeps.load(std::memory_order_seq_cst) != 0 &&
           place_.header->reader_sleeps.exchange(0, std::memory_order_seq_cst) != 0;
  }

  /// Asks the reader to ring when it has made room. True if the ring is still full: sleep now.
  bool may_sleep() noexcept {
    place_.header->writer_waits.store(1, std::memory_order_seq_cst);
    return !look_for_room() && !is_broken_;
  }

 private:
  explicit RingWriter(RingPlace place) noexcept : place_(place) {}

  bool look_for_room() noexcept {
    const std::uint64_t head = place_.header->head.load(std::memory_order_seq_cst);
    if (tail_ - head > place_.capacity) is_broken_ = true;
    if (is_broken_) return false;
    head_ = head;
    return tail_ - head_ < place_.capacity;
  }
  std::byte* slot(std::uint64_t index) const noexcept {
    return place_.slots + (index & (place_.capacity - 1)) * sizeof(M);
  }

  RingPlace place_;
  std::uint64_t tail_ = 0;  // ours; never read back from the shared memory
  std::uint64_t head_ = 0;  // as seen last
  bool is_broken_ = false;
};

/// The reading end. One for each ring, attached before it has read anything. One thread at a time.
template <RingMessage M>
class RingReader {
 public:
  /// As RingWriter::attach(); the writer may have written already.
  static Result<RingReader> attach(std::span<std::byte> memory) {
    return place_ring(memory, sizeof(M)).map([](RingPlace place) { return RingReader(place); });
  }

  /// kDone, kEmpty or kBroken; `message` changes with kDone only. It comes from another process:
  /// check what it says. If the writer waits for room, take_bell_request() says so.
  RingOutcome try_pop(M& message) noexcept {
    if (head_ == tail_ && !look_for_messages())
      return is_broken_ ? RingOutcome::kBroken : RingOutcome::kEmpty;
    std::memcpy(&message, slot(head_), sizeof(M));
    place_.header->head.store(++head_, std::memory_order_seq_cst);
    return RingOutcome::kDone;
  }

  /// True once if the writer waits for room: its bell must be rung now. Ask after each pop.
  bool take_bell_request() noexcept {
    return place_.header->writer_waits.load(std::memory_order_seq_cst) != 0 &&
           place_.header->writer_waits.exchange(0, std::memory_order_seq_cst) != 0;
  }

  /// Asks the writer to ring with the next message. True if there is still none: sleep now.
  bool may_sleep() noexcept {
    place_.header->reader_sleeps.store(1, std::memory_order_seq_cst);
    return head_ == tail_ && !look_for_messages() && !is_broken_;
  }

 private:
  explicit RingReader(RingPlace place) noexcept : place_(place) {}

  bool look_for_messages() noexcept {
    const std::uint64_t tail = place_.header->tail.load(std::memory_order_seq_cst);
    if (tail - head_ > place_.capacity) is_broken_ = true;
    if (is_broken_) return false;
    tail_ = tail;
    return tail_ != head_;
  }
  const std::byte* slot(std::uint64_t index) const noexcept {
    return place_.slots + (index & (place_.capacity - 1)) * sizeof(M);
  }

  RingPlace place_;
  std::uint64_t head_ = 0;  // ours; never read back from the shared memory
  std::uint64_t tail_ = 0;  // as seen last
  bool is_broken_ = false;
};

}  // namespace forebay::shm
