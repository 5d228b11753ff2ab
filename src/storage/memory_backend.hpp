// SPDX-License-Identifier: Apache-2.0
// A backend without threads and system calls of its own: each attempt runs on the issuer's thread,
// inside wait(), so a test decides which operation completes when.
#pragma once

#include <deque>
#include <mutex>

#include "storage/backend.hpp"
#include "storage/issuer_bell.hpp"

namespace forebay::storage {

/// Completes operations in the order of submission, on any File (through its read_at and so on).
/// After hold() they complete only when released, in the order of the releases.
class MemoryBackend final : public Backend {
 public:
  explicit MemoryBackend(std::size_t queue_depth);

  std::string_view name() const noexcept override { return "memory"; }
  std::size_t capacity() const noexcept override { return queue_depth_; }
  bool accepts(const File& /*file*/) const noexcept override { return true; }
  std::size_t submit(std::span<const Operation> operations) override;
  std::size_t wait(std::span<RawCompletion> completions, Deadline deadline) override;
  void wake() noexcept override;
  Status watch(int descriptor) override { return bell_.watch(descriptor); }
  bool take_watched() noexcept override { return bell_.take_watched(); }

  /// From now on submitted operations wait for release(). Any thread, like all that follow.
  void hold() noexcept;
  /// Lets the `position`-th of the held operations (0 is the oldest) complete; false if there are
  /// not so many.
  bool release(std::size_t position);
  /// Lets all go, in order, and ends hold().
  void release_all();
  std::size_t held_count() const;

 private:
  const std::size_t queue_depth_;
  mutable std::mutex mutex_;
  IssuerBell bell_;
  bool holding_ = false;
  bool woken_ = false;
  std::deque<Operation> held_;
  std::deque<Operation> ready_;
};

}  // namespace forebay::storage
