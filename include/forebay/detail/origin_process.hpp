// SPDX-License-Identifier: Apache-2.0
// OriginProcess: the effect of fork() on objects that threads serve. A child has a copy of such an
// object, perhaps half modified and with locked mutexes, and none of the threads. These objects
// hold an OriginProcess: in a child, their calls fail with kClosed and their destructors do
// nothing.
#pragma once

#include <forebay/detail/export.hpp>
#include <forebay/error.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace forebay::detail {

/// Number of fork() calls between the first process of this program and this one. Written only by
/// the handler that fork() calls in a child.
FOREBAY_EXPORT extern std::atomic<std::uint32_t> process_generation;

/// kClosed: the object named by `about` belongs to the parent of this process.
FOREBAY_EXPORT Error fork_error(ErrorDetails about);

/// The process that created the object which holds this. Any thread; takes no lock.
class FOREBAY_EXPORT OriginProcess {
 public:
  /// False in a child of the creating process, and in the descendants of that child.
  bool is_current() const noexcept {
    return generation_ == process_generation.load(std::memory_order_relaxed);
  }

  /// kClosed in a child.
  Status check(const char* operation, const std::string& path = {}) const;

 private:
  std::uint32_t generation_ = process_generation.load(std::memory_order_relaxed);
};

/// Keeps `object` reachable for leak detectors.
FOREBAY_EXPORT void leak_object(void* object) noexcept;

/// Deletes an object in the process that created it. In a child the object stays: its destructor
/// could wait for threads and locks of the parent, or remove files of the parent.
struct OriginDeleter {
  OriginProcess origin;

  template <class T>
  void operator()(T* object) const noexcept {
    if (origin.is_current())
      delete object;
    else
      leak_object(object);
  }
};
template <class T>
using OriginPointer = std::unique_ptr<T, OriginDeleter>;

}  // namespace forebay::detail
