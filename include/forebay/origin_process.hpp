// SPDX-License-Identifier: Apache-2.0
// What fork() means for objects that threads serve. The child has a copy of the object, perhaps in
// the middle of a change and with locked mutexes, and none of the threads. Such objects hold an
// OriginProcess: their calls fail with kClosed in a child, and their destructors do nothing there.
#pragma once

#include <forebay/error.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace forebay::detail {

/// How many fork()s lie between the first process of this program and this one. Only the handler
/// that fork() calls in a child writes it.
extern std::atomic<std::uint32_t> process_generation;

/// kClosed: what `about` names belongs to the parent of this process.
Error made_before_fork(ErrorDetails about);

/// The process in which its owner was made. Any thread; takes no lock.
class OriginProcess {
 public:
  /// False in a child that fork() has made since, and in the children of that.
  bool is_current() const noexcept {
    return generation_ == process_generation.load(std::memory_order_relaxed);
  }

  /// kClosed in a child.
  Status check(const char* operation, const std::string& path = {}) const;

 private:
  std::uint32_t generation_ = process_generation.load(std::memory_order_relaxed);
};

/// Leak detectors find `object` from now on.
void keep_forever(void* object) noexcept;

/// Deletes an object where it was made. In a child the object stays: its destructor could wait for
/// threads and locks that exist in the parent only, or remove files of the parent.
struct DeleteAtOrigin {
  OriginProcess origin;

  template <class T>
  void operator()(T* object) const noexcept {
    if (origin.is_current())
      delete object;
    else
      keep_forever(object);
  }
};
template <class T>
using PointerAtOrigin = std::unique_ptr<T, DeleteAtOrigin>;

}  // namespace forebay::detail
