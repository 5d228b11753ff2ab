// SPDX-License-Identifier: Apache-2.0
// MpscQueue: how submissions reach the thread of a queue: a lock-free list with many producers and
// one consumer. The links are in the submissions, of which each stream has a fixed number. So the
// list is bounded and never allocates. The consumer takes all at once, which avoids ABA.
#pragma once

#include <atomic>

#include "storage/index_stack.hpp"

namespace forebay::stream {

/// `T` has a member `T* next`.
template <class T>
class MpscQueue {
 public:
  /// Any thread; never blocks. `item` is in no list and stays alive until it was taken.
  void push(T& item) noexcept {
    T* first = first_.load(std::memory_order_relaxed);
    do {
      item.next = first;
    } while (!first_.compare_exchange_weak(first, &item));
  }

  bool empty() const noexcept { return first_.load() == nullptr; }

  /// All items, linked in the order in which they were pushed; null if there are none.
  T* take_all() noexcept {
    T* newest = first_.exchange(nullptr);
    T* oldest = nullptr;
    while (newest != nullptr) {
      T* const older = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = older;
    }
    return oldest;
  }

 private:
  alignas(storage::kFalseSharingBytes) std::atomic<T*> first_{nullptr};
};

}  // namespace forebay::stream
