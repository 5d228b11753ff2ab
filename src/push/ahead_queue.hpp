// SPDX-License-Identifier: Apache-2.0
// AheadQueue: the predicted accesses of a stream that were pushed and not read yet, nearest first.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "trace/access.hpp"

namespace forebay::push {

/// One thread at a time. Adjacent accesses share an entry, so that small sequential reads do not
/// fill the queue.
class AheadQueue {
 public:
  struct Entry {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint32_t accesses = 0;  ///< that the entry consists of
    std::uint32_t loads = 0;     ///< pushed for it
  };
  static constexpr std::size_t kEntriesMax = 512;
  /// Entries that an access may skip.
  static constexpr std::size_t kSkippedMax = 16;

  bool is_empty() const noexcept { return size_ == 0; }
  bool is_full() const noexcept { return size_ == kEntriesMax; }
  std::size_t size() const noexcept { return size_; }
  const Entry& at(std::size_t index) const noexcept {
    return entries_[(head_ + index) % kEntriesMax];
  }
  std::uint64_t accesses() const noexcept { return accesses_; }
  std::uint64_t loads() const noexcept { return loads_; }

  /// Adds an access behind the others. Not when is_full().
  void push(std::uint64_t offset, std::uint64_t size, std::uint32_t loads) noexcept {
    accesses_ += 1;
    loads_ += loads;
    if (size_ > 0) {
      Entry& last = entries_[(head_ + size_ - 1) % kEntriesMax];
      if (last.offset + last.size == offset) {
        last = {last.offset, last.size + size, last.accesses + 1, last.loads + loads};
        return;
      }
    }
    entries_[(head_ + size_++) % kEntriesMax] = {offset, size, 1, loads};
  }

  /// Removes the access and all before it. Returns their number of entries that were skipped; no
  /// match: kEntriesMax, and nothing is removed. A larger or smaller access matches by its offset.
  std::size_t match(const trace::Access& access) noexcept {
    for (std::size_t i = 0; i < size_ && i <= kSkippedMax; ++i) {
      if (at(i).offset != access.offset) continue;
      for (std::size_t skipped = 0; skipped < i; ++skipped)
        pop();
      consume(access.size);
      return i;
    }
    return kEntriesMax;
  }

  void clear() noexcept { head_ = size_ = accesses_ = loads_ = 0; }

 private:
  void pop() noexcept {
    const Entry& front = entries_[head_];
    accesses_ -= front.accesses;
    loads_ -= front.loads;
    head_ = (head_ + 1) % kEntriesMax;
    --size_;
  }
  /// Removes the first `size` bytes of the front.
  void consume(std::uint64_t size) noexcept {
    Entry& front = entries_[head_];
    if (size >= front.size || front.accesses == 1) return pop();
    const auto share = [&](std::uint32_t number) {
      return static_cast<std::uint32_t>(number * (front.size - size) / front.size);
    };
    // The rest has as many accesses of this size, but no more than predicted.
    const auto left = static_cast<std::uint32_t>(
        std::min<std::uint64_t>((front.size - 1) / size, front.accesses));
    const Entry rest{front.offset + size, front.size - size, left, share(front.loads)};
    accesses_ = accesses_ - front.accesses + rest.accesses;
    loads_ = loads_ - front.loads + rest.loads;
    front = rest;
  }

  std::array<Entry, kEntriesMax> entries_;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
  std::uint64_t accesses_ = 0;
  std::uint64_t loads_ = 0;
};

}  // namespace forebay::push
