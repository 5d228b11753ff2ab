// SPDX-License-Identifier: Apache-2.0
// Doorbell: wakes one sleeper in another process. std::atomic::wait does not do that, and a bell is
// a descriptor, so that an agent can wait for all of its clients' bells in one place.
#pragma once

#include <forebay/error.hpp>

#include <utility>

#include "base/clock.hpp"
#include "base/descriptor.hpp"

namespace forebay::shm {

/// Rings that come before clear() are one. Any thread may ring; one waits.
class Doorbell {
 public:
  /// An empty one; only to be assigned to.
  Doorbell() noexcept = default;

  /// A new bell, silent. Fails with kLimit.
  static Result<Doorbell> create();
  /// The bell that another process passed. kInvalidArgument if ringing it could block.
  static Result<Doorbell> from(Descriptor descriptor);

  /// Never blocks, never fails: a bell that has been rung too often is still heard. Must not be
  /// called on an empty one.
  void ring() const noexcept;
  /// Makes it silent. Clear first and look for work afterwards: the other way round loses the ring
  /// that comes in between.
  void clear() const noexcept;
  /// Blocks until it has been rung since the last clear(); false if the deadline passed.
  bool wait(Deadline deadline) const noexcept;

  /// Readable while rung. To wait for, or to pass a duplicate on.
  const Descriptor& descriptor() const noexcept { return descriptor_; }

 private:
  explicit Doorbell(Descriptor descriptor) noexcept : descriptor_(std::move(descriptor)) {}

  Descriptor descriptor_;
};

}  // namespace forebay::shm
