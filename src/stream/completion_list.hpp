// SPDX-License-Identifier: Apache-2.0
// CompletionList: written buffers for poll_completions(), as they complete or in the order of
// submission. Bounded: if a program requests completions and never fetches them, submissions fail
// at the limit.
#pragma once

#include <forebay/output_stream.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>

namespace forebay::stream {

/// Any thread.
class CompletionList {
 public:
  static constexpr std::size_t kEntriesMax = 65536;

  explicit CompletionList(CompletionOrder kind) : kind_(kind) {}

  /// Reserves room for one entry, which will be added or canceled. False if the list is full.
  bool reserve();
  /// Adds a written buffer, for which room was reserved.
  void add(const WriteCompletion& entry);
  /// Releases the room of a buffer that will not be reported.
  void cancel_reservation();
  std::size_t take(std::span<WriteCompletion> into);

 private:
  const CompletionOrder kind_;
  std::mutex mutex_;
  std::size_t reserved_ = 0;
  std::deque<WriteCompletion> ready_;
  std::map<std::uint64_t, WriteCompletion>
      out_of_order_;  ///< kInOrder: entries after a missing one
  std::uint64_t next_ = 0;
};

}  // namespace forebay::stream
