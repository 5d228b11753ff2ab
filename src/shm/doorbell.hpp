// SPDX-License-Identifier: Apache-2.0
// Doorbell: wakes one sleeper in another process. std::atomic::wait() does not work across
// processes. A doorbell is a descriptor, so an agent can poll those of all its clients at once.
#pragma once

#include <forebay/error.hpp>

#include <utility>

#include "base/clock.hpp"
#include "base/descriptor.hpp"

namespace forebay::shm {

/// Rings before clear() count as one. Any thread may ring; one thread waits.
class Doorbell {
 public:
  /// Empty; only for assignment.
  Doorbell() noexcept = default;

  /// A new doorbell, not rung. Fails with kLimit.
  static Result<Doorbell> create();
  /// The doorbell that another process passed. kInvalidArgument if ringing it could block.
  static Result<Doorbell> from(Descriptor descriptor);

  /// Never blocks and never fails, even without any clear(). Must not be called on an empty one.
  void ring() const noexcept;
  /// Resets it. Clear first and check for work afterwards: the opposite order loses a signal that
  /// arrives in between.
  void clear() const noexcept;
  /// Blocks until it has been rung since the last clear(); false if the deadline passed.
  bool wait(Deadline deadline) const noexcept;

  /// Readable while rung. For poll(), or to pass a duplicate on.
  const Descriptor& descriptor() const noexcept { return descriptor_; }

 private:
  explicit Doorbell(Descriptor descriptor) noexcept : descriptor_(std::move(descriptor)) {}

  Descriptor descriptor_;
};

}  // namespace forebay::shm
