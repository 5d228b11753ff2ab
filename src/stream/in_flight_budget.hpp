// SPDX-License-Identifier: Apache-2.0
// InFlightBudget: limit of bytes in flight to one device, over all streams and both access methods.
// More bytes queued in a device gain nothing and increase all waiting times. So they wait in
// DeviceQueues, where they are shared fairly.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "storage/index_stack.hpp"

namespace forebay::stream {

/// Any thread.
class InFlightBudget {
 public:
  InFlightBudget(std::uint64_t limit_bytes, std::string reason, std::uint64_t saturation_bytes = 0)
      : limit_bytes_(limit_bytes),
        saturation_bytes_(saturation_bytes),
        reason_(std::move(reason)) {}

  std::uint64_t limit_bytes() const noexcept { return limit_bytes_; }
  /// Source of the limit.
  const std::string& reason() const noexcept { return reason_; }
  /// As in StorageNeeds.
  std::uint64_t saturation_bytes() const noexcept { return saturation_bytes_; }

  /// Acquires `bytes`, or returns false. After a failure, the next release() calls the listeners.
  /// With nothing in flight, one request of any length is granted.
  bool try_acquire(std::uint64_t bytes) noexcept;
  void release(std::uint64_t bytes) noexcept;

  /// `notify` is called on any thread when a failed try_acquire() should be retried. A user adds
  /// its listener before its own first try_acquire().
  void add_listener(std::function<void()> notify);

 private:
  const std::uint64_t limit_bytes_;
  const std::uint64_t saturation_bytes_;
  const std::string reason_;
  alignas(storage::kFalseSharingBytes) std::atomic<std::uint64_t> in_flight_bytes_{0};
  alignas(storage::kFalseSharingBytes) std::atomic<bool> has_waiters_{false};
  std::mutex mutex_;
  std::vector<std::function<void()>> listeners_;
};

}  // namespace forebay::stream
