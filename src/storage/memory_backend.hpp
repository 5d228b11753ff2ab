// SPDX-License-Identifier: Apache-2.0
// A backend without threads and system calls: each attempt runs on the issuer's thread, inside
// wait(), so a test decides which operation completes when.
#pragma once

#include <deque>
#include <mutex>

#include "storage/backend.hpp"
#include "storage/issuer_wakeup.hpp"

namespace forebay::storage {

/// Completes operations in the order of submission, on any File (through its read_at and so on).
/// After hold() they complete only when released, in the order of the releases.
class MemoryBackend final : public Backend {
 public:
  explicit MemoryBackend(std::size_t queue_depth);

  std::string_view name() const noexcept override { return "memory"; }
  std::size_t capacity() const noexcept override { return queue_depth_; }
  bool can_submit(const File& /*file*/) const noexcept override { return true; }
  std::size_t submit(std::span<const Operation> operations) override;
  std::size_t wait(std::span<RawCompletion> completions, Deadline deadline) override;
  void wake() noexcept override;
  Status watch(int descriptor) override { return wakeup_.watch(descriptor); }
  bool consume_watch_event() noexcept override { return wakeup_.consume_watch_event(); }

  /// From now on submitted operations wait for release(). Any thread, as the following calls.
  void hold() noexcept;
  /// Lets the `position`-th of the held operations (0 is the oldest) complete; false if it does not
  /// exist.
  bool release(std::size_t position);
  /// Releases all, in order, and ends hold().
  void release_all();
  std::size_t held_count() const;

 private:
  const std::size_t queue_depth_;
  mutable std::mutex mutex_;
  IssuerWakeup wakeup_;
  bool is_holding_ = false;
  bool is_woken_ = false;
  std::deque<Operation> held_;
  std::deque<Operation> ready_;
};

}  // namespace forebay::storage
