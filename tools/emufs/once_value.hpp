// SPDX-License-Identifier: Apache-2.0
// A value that is set once while threads already use it. They read either null or the complete
// value, without a lock.
#pragma once

#include <atomic>
#include <memory>

namespace forebay::emufs {

template <class T>
class OnceValue {
 public:
  /// Called once, by one thread. The value lives as long as this object.
  void set(std::unique_ptr<T> value) {
    owner_ = std::move(value);
    value_.store(owner_.get(), std::memory_order_release);
  }
  /// Null until set. Any thread.
  T* get() const noexcept { return value_.load(std::memory_order_acquire); }

 private:
  std::unique_ptr<T> owner_;
  std::atomic<T*> value_{nullptr};
};

}  // namespace forebay::emufs
