// SPDX-License-Identifier: Apache-2.0
// How many bytes may be under way to one device, over all streams and both ways of writing there.
// What a device queues for itself gains nothing and makes everybody wait longer; it waits in our
// queues instead, where it is shared out fairly.
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
class Budget {
 public:
  Budget(std::uint64_t limit_bytes, std::string reason, std::uint64_t busy_bytes = 0)
      : limit_bytes_(limit_bytes), busy_bytes_(busy_bytes), reason_(std::move(reason)) {}

  std::uint64_t limit_bytes() const noexcept { return limit_bytes_; }
  /// Whose word the limit is.
  const std::string& reason() const noexcept { return reason_; }
  /// As in StorageNeeds.
  std::uint64_t busy_bytes() const noexcept { return busy_bytes_; }

  /// Takes so many bytes, or says no; whoever is told no is rung when some came back. One request
  /// is always granted, however long it is.
  bool try_take(std::uint64_t bytes) noexcept;
  void give_back(std::uint64_t bytes) noexcept;

  /// Called, on any thread, when those who were told no should ask again. Before anybody asks.
  void add_bell(std::function<void()> ring);

 private:
  const std::uint64_t limit_bytes_;
  const std::uint64_t busy_bytes_;
  const std::string reason_;
  alignas(storage::kHotAtomicBytes) std::atomic<std::uint64_t> taken_bytes_{0};
  alignas(storage::kHotAtomicBytes) std::atomic<bool> somebody_waits_{false};
  std::mutex mutex_;
  std::vector<std::function<void()>> bells_;
};

}  // namespace forebay::stream
