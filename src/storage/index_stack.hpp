// SPDX-License-Identifier: Apache-2.0
// IndexStack: lock-free free list, a Treiber stack over indexes of a fixed pool. Head index and a
// version share one 64-bit word. So a head that was popped and pushed again meanwhile (ABA) is
// detected, and no memory is ever reclaimed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/assert.hpp"

namespace forebay::storage {

/// Distance of atomics that several threads write: two cache lines, because lines are fetched in
/// pairs.
inline constexpr std::size_t kFalseSharingBytes = 128;

/// Holds each index of 0 .. capacity - 1 at most once; full at the start. All calls from any
/// thread; none blocks. Memory that threads write is in units of `kPaddingBytes`, without other
/// data. Below kFalseSharingBytes, stacks of different threads slow each other down, as benchmarks
/// show. All atomics are sequentially consistent: sleepers of BufferPool depend on it, and its cost
/// is not measurable beside the transfers.
template <std::size_t kPaddingBytes>
class PaddedIndexStack {
 public:
  explicit PaddedIndexStack(std::uint32_t capacity)
      : capacity_(capacity),
        links_(std::make_unique<Links[]>((capacity + kLinks - 1) / kLinks)),
        head_(pack({capacity > 0 ? 0 : kNone, 0})) {
    FOREBAY_ASSERT(capacity < kNone);
    for (std::uint32_t i = 0; i < capacity; ++i)
      next_of(i).store(i + 1 < capacity ? i + 1 : kNone);
  }

  /// The index pushed last, if any.
  std::optional<std::uint32_t> pop() noexcept {
    std::uint64_t word = head_.load();
    for (;;) {
      const Head head = unpack(word);
      if (head.index == kNone) return std::nullopt;
      // May be stale if another thread popped this index meanwhile; then the version differs and
      // the exchange fails.
      const std::uint32_t next = next_of(head.index).load();
      if (head_.compare_exchange_weak(word, pack({next, head.version + 1}))) return head.index;
    }
  }

  /// `index` must have been popped and not pushed since.
  void push(std::uint32_t index) noexcept {
    FOREBAY_ASSERT(index < capacity_);
    std::uint64_t word = head_.load();
    for (;;) {
      const Head head = unpack(word);
      next_of(index).store(head.index);
      if (head_.compare_exchange_weak(word, pack({index, head.version + 1}))) return;
    }
  }

  std::uint32_t capacity() const noexcept { return capacity_; }

 private:
  using Link = std::atomic<std::uint32_t>;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr std::size_t kLinks = kPaddingBytes / sizeof(Link);
  struct alignas(kPaddingBytes) Links {
    std::array<Link, kLinks> next;
  };
  struct Head {
    std::uint32_t index;
    std::uint32_t version;
  };

  static Head unpack(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32U)};
  }
  static std::uint64_t pack(Head head) noexcept {
    return (static_cast<std::uint64_t>(head.version) << 32U) | head.index;
  }

  Link& next_of(std::uint32_t index) noexcept {
    return links_[index / kLinks].next[index % kLinks];
  }

  const std::uint32_t capacity_;
  std::unique_ptr<Links[]> links_;
  alignas(kPaddingBytes) std::atomic<std::uint64_t> head_;
};

using IndexStack = PaddedIndexStack<kFalseSharingBytes>;

}  // namespace forebay::storage
