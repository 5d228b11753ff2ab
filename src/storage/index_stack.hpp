// SPDX-License-Identifier: Apache-2.0
// A lock-free free list: a Treiber stack over indices of a fixed pool. Head index and a version tag
// share one 64-bit word, so a head that was popped and pushed again meanwhile (ABA) is noticed, and
// nothing is ever reclaimed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace forebay::storage {

/// Atomics that several threads write lie this far apart: two cache lines, because lines are
/// fetched in pairs.
inline constexpr std::size_t kHotAtomicBytes = 128;

/// Holds each index of 0 .. capacity - 1 at most once; full at the start. All calls from any
/// thread; none blocks.
class IndexStack {
 public:
  explicit IndexStack(std::uint32_t capacity);

  /// The index pushed last, if there is one.
  std::optional<std::uint32_t> pop() noexcept;

  /// `index` must have been popped and not pushed since.
  void push(std::uint32_t index) noexcept;

  std::uint32_t capacity() const noexcept { return capacity_; }

 private:
  const std::uint32_t capacity_;
  std::unique_ptr<std::atomic<std::uint32_t>[]> next_;
  alignas(kHotAtomicBytes) std::atomic<std::uint64_t> head_;
};

}  // namespace forebay::storage
