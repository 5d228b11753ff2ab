// SPDX-License-Identifier: Apache-2.0
// FixedQueue: first-in-first-out queue of bounded size that never allocates after its constructor.
// The backends queue operations and completions in it.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "base/assert.hpp"

namespace forebay::storage {

/// Not thread-safe: its owner has a lock.
template <class T>
class FixedQueue {
 public:
  explicit FixedQueue(std::size_t capacity) : entries_(capacity) {}

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return entries_.size(); }

  /// The queue must not be full.
  void push(T value) {
    FOREBAY_ASSERT(size_ < entries_.size());
    entries_[(first_ + size_) % entries_.size()] = std::move(value);
    ++size_;
  }

  /// Must not be empty.
  const T& front() const {
    FOREBAY_ASSERT(size_ > 0);
    return entries_[first_];
  }

  /// Must not be empty.
  T pop() {
    FOREBAY_ASSERT(size_ > 0);
    T value = std::move(entries_[first_]);
    first_ = (first_ + 1) % entries_.size();
    --size_;
    return value;
  }

  void clear() noexcept { size_ = 0; }

 private:
  std::vector<T> entries_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace forebay::storage
