// SPDX-License-Identifier: Apache-2.0
// Something that comes into being once, while threads that use it run already: they see none of it
// or all of it, without a lock.
#pragma once

#include <atomic>
#include <memory>

namespace forebay::emufs {

template <class T>
class Published {
 public:
  /// Once, by one thread. It lives as long as this object does.
  void publish(std::unique_ptr<T> thing) {
    owner_ = std::move(thing);
    thing_.store(owner_.get(), std::memory_order_release);
  }
  /// Null until it was published. Any thread.
  T* get() const noexcept { return thing_.load(std::memory_order_acquire); }

 private:
  std::unique_ptr<T> owner_;
  std::atomic<T*> thing_{nullptr};
};

}  // namespace forebay::emufs
