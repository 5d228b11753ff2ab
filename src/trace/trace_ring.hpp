// SPDX-License-Identifier: Apache-2.0
// TraceRing: the records of one thread until the service thread writes them. A bounded queue of one
// producer and one consumer without locks (Lamport, Specifying Concurrent Program Modules, 1983).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "trace/trace_record.hpp"

namespace forebay::trace {

class TraceRing {
 public:
  static constexpr std::size_t kRecords = 4096;

  // The producer: one thread.

  /// Drops and counts the record if the ring is full.
  void push(const TraceRecord& record) noexcept {
    const std::uint64_t head = head_.load(std::memory_order_relaxed);
    if (head - known_tail_ == kRecords) known_tail_ = tail_.load(std::memory_order_acquire);
    if (head - known_tail_ == kRecords) {
      lost_.store(lost_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return;
    }
    records_[head % kRecords] = record;
    head_.store(head + 1, std::memory_order_release);
  }
  /// No push() follows.
  void close() noexcept { is_closed_.store(true, std::memory_order_release); }

  // The consumer: one thread.

  struct Content {
    /// Oldest first: `first`, then `second`. Valid until release().
    std::span<const TraceRecord> first;
    std::span<const TraceRecord> second;
    std::uint64_t lost = 0;  ///< since the preceding call of content()
    bool is_last = false;    ///< the producer has closed the ring
  };
  Content content() noexcept {
    const bool is_last = is_closed_.load(std::memory_order_acquire);
    const std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    std::uint64_t count = head_.load(std::memory_order_acquire) - tail;
    // Another process may have written anything.
    if (count > kRecords) {
      tail_.store(tail + count, std::memory_order_release);
      return {{}, {}, 0, is_last};
    }
    const std::uint64_t lost = lost_.load(std::memory_order_relaxed);
    const std::size_t at = tail % kRecords;
    const std::size_t to_end = count < kRecords - at ? count : kRecords - at;
    const std::uint64_t new_lost = lost - reported_lost_;
    reported_lost_ = lost;
    const std::span<const TraceRecord> all(records_);
    return {all.subspan(at, to_end), all.first(count - to_end), new_lost, is_last};
  }
  /// Frees the memory of what content() returned.
  void release(const Content& content) noexcept {
    const std::uint64_t count = content.first.size() + content.second.size();
    tail_.store(tail_.load(std::memory_order_relaxed) + count, std::memory_order_release);
  }

 private:
  static constexpr std::size_t kLineBytes = 64;

  // The producer writes this cache line, the consumer the next one.
  alignas(kLineBytes) std::atomic<std::uint64_t> head_{0};
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<bool> is_closed_{false};
  std::uint64_t known_tail_ = 0;
  alignas(kLineBytes) std::atomic<std::uint64_t> tail_{0};
  std::uint64_t reported_lost_ = 0;
  alignas(kLineBytes) std::array<TraceRecord, kRecords> records_;
};

}  // namespace forebay::trace
