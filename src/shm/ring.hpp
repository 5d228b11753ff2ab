// SPDX-License-Identifier: Apache-2.0
// A ring of small messages in shared memory, from one writer to one reader. Each client has a
// separate ring: in a common one, a writer killed during a write would block all others.
// Neither side trusts the content of the memory: for any content, no access is out of bounds.
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

/// Distance that avoids false sharing: two cache lines, since they are fetched in pairs.
inline constexpr std::size_t kFalseSharingBytes = 128;

inline constexpr std::uint64_t kRingCapacityMax = 1U << 20U;

/// Shared state of both sides; zeros are an empty ring. The indices count all messages, modulo
/// 2^64.
///
/// How a side sleeps without a lost wake-up (Dekker: all four accesses are seq_cst): it sets its
/// flag, checks the ring once more, and sleeps on its doorbell only if there is still no work. The
/// other side publishes its index and reads the flag. If the flag is set, it clears the flag and
/// rings the doorbell. Each flag is beside the index that its sleeper reads, and so in a cache line
/// that the sleeper accesses anyway.
struct RingHeader {
  alignas(kFalseSharingBytes) std::atomic<std::uint64_t> tail;  ///< next to write; by the writer
  std::atomic<std::uint32_t> is_reader_sleeping;
  alignas(kFalseSharingBytes) std::atomic<std::uint64_t> head;  ///< next to read; by the reader
  std::atomic<std::uint32_t> is_writer_waiting;                 ///< for room
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(sizeof(RingHeader) == 2 * kFalseSharingBytes);

template <class M>
concept RingMessage = std::is_trivially_copyable_v<M> && std::is_default_constructible_v<M>;

/// Memory of a ring with `capacity` messages (a power of two, at most kRingCapacityMax).
template <RingMessage M>
constexpr std::size_t ring_bytes(std::uint64_t capacity) noexcept {
  FOREBAY_ASSERT(std::has_single_bit(capacity));
  FOREBAY_ASSERT(capacity <= kRingCapacityMax);
  return sizeof(RingHeader) + capacity * sizeof(M);
}

/// Outcome of an attempt on a ring. Not an Error: most attempts of a busy agent find nothing.
enum class RingOutcome : std::uint8_t {
  kDone,
  kFull,         ///< no room to write
  kEmpty,        ///< nothing to read
  kBroken,       ///< the other side left an impossible index; the ring is unusable from now on
  kInterrupted,  ///< WaitOptions::interrupt_fd is readable (ring_pair.hpp)
};

/// Addresses of a ring; checked, see map_ring().
struct RingLayout {
  RingHeader* header = nullptr;
  std::byte* slots = nullptr;
  std::uint64_t capacity = 0;
};

/// Fails with kInvalidArgument unless `memory` is aligned to kFalseSharingBytes and exactly the
/// size of a ring of such messages.
Result<RingLayout> map_ring(std::span<std::byte> memory, std::size_t message_bytes);

/// The writing end. One for each ring, attached while the ring is new. One thread at a time.
template <RingMessage M>
class RingWriter {
 public:
  /// `memory` is ring_bytes<M>() zeros, aligned to kFalseSharingBytes (a reader may be attached
  /// already), and stays mapped as long as this is used.
  static Result<RingWriter> attach(std::span<std::byte> memory) {
    return map_ring(memory, sizeof(M)).map([](RingLayout layout) { return RingWriter(layout); });
  }

  /// kDone, kFull or kBroken. The reader sees the message at once; take_doorbell_request() reports
  /// whether it sleeps.
  RingOutcome try_push(const M& message) noexcept {
    if (tail_ - head_ == layout_.capacity && !refresh_head())
      return is_broken_ ? RingOutcome::kBroken : RingOutcome::kFull;
    std::memcpy(slot(tail_), &message, sizeof(M));
    layout_.header->tail.store(++tail_, std::memory_order_seq_cst);
    return RingOutcome::kDone;
  }

  /// True once if the reader has gone to sleep: ring its doorbell now. Call after each push, or
  /// after a few.
  bool take_doorbell_request() noexcept {
    return layout_.header->is_reader_sleeping.load(std::memory_order_seq_cst) != 0 &&
           layout_.header->is_reader_sleeping.exchange(0, std::memory_order_seq_cst) != 0;
  }

  /// Requests a doorbell signal for the time when the reader has made room. True if the ring is
  /// still full: sleep now.
  bool prepare_sleep() noexcept {
    layout_.header->is_writer_waiting.store(1, std::memory_order_seq_cst);
    return !refresh_head() && !is_broken_;
  }

 private:
  explicit RingWriter(RingLayout layout) noexcept : layout_(layout) {}

  bool refresh_head() noexcept {
    const std::uint64_t head = layout_.header->head.load(std::memory_order_seq_cst);
    if (tail_ - head > layout_.capacity) is_broken_ = true;
    if (is_broken_) return false;
    head_ = head;
    return tail_ - head_ < layout_.capacity;
  }
  std::byte* slot(std::uint64_t index) const noexcept {
    return layout_.slots + (index & (layout_.capacity - 1)) * sizeof(M);
  }

  RingLayout layout_;
  std::uint64_t tail_ = 0;  // ours; never read back from the shared memory
  std::uint64_t head_ = 0;  // as last read
  bool is_broken_ = false;
};

/// The reading end. One for each ring, attached before it has read anything. One thread at a time.
template <RingMessage M>
class RingReader {
 public:
  /// As RingWriter::attach(); the writer may have written already.
  static Result<RingReader> attach(std::span<std::byte> memory) {
    return map_ring(memory, sizeof(M)).map([](RingLayout layout) { return RingReader(layout); });
  }

  /// kDone, kEmpty or kBroken; `message` changes with kDone only. It comes from another process:
  /// check its content. take_doorbell_request() reports whether the writer waits for room.
  RingOutcome try_pop(M& message) noexcept {
    if (head_ == tail_ && !refresh_tail())
      return is_broken_ ? RingOutcome::kBroken : RingOutcome::kEmpty;
    std::memcpy(&message, slot(head_), sizeof(M));
    layout_.header->head.store(++head_, std::memory_order_seq_cst);
    return RingOutcome::kDone;
  }

  /// True once if the writer waits for room: ring its doorbell now. Call after each pop.
  bool take_doorbell_request() noexcept {
    return layout_.header->is_writer_waiting.load(std::memory_order_seq_cst) != 0 &&
           layout_.header->is_writer_waiting.exchange(0, std::memory_order_seq_cst) != 0;
  }

  /// Requests a doorbell signal with the next message. True if the ring is still empty: sleep now.
  bool prepare_sleep() noexcept {
    layout_.header->is_reader_sleeping.store(1, std::memory_order_seq_cst);
    return head_ == tail_ && !refresh_tail() && !is_broken_;
  }

 private:
  explicit RingReader(RingLayout layout) noexcept : layout_(layout) {}

  bool refresh_tail() noexcept {
    const std::uint64_t tail = layout_.header->tail.load(std::memory_order_seq_cst);
    if (tail - head_ > layout_.capacity) is_broken_ = true;
    if (is_broken_) return false;
    tail_ = tail;
    return tail_ != head_;
  }
  const std::byte* slot(std::uint64_t index) const noexcept {
    return layout_.slots + (index & (layout_.capacity - 1)) * sizeof(M);
  }

  RingLayout layout_;
  std::uint64_t head_ = 0;  // ours; never read back from the shared memory
  std::uint64_t tail_ = 0;  // as last read
  bool is_broken_ = false;
};

}  // namespace forebay::shm
