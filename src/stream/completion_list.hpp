// SPDX-License-Identifier: Apache-2.0
// What written() tells: buffers that were written, as they come or in the order in which they were
// submitted. Bounded: who asks to be told and never listens is refused at some point.
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

  explicit CompletionList(Completions kind) : kind_(kind) {}

  /// Room for one more, which will be added or forgotten. False if nobody takes them.
  bool reserve();
  /// One for which there was room is written.
  void add(const Written& entry);
  /// One for which there was room will not be told of.
  void forget();
  std::size_t take(std::span<Written> into);

 private:
  const Completions kind_;
  std::mutex mutex_;
  std::size_t reserved_ = 0;
  std::deque<Written> ready_;
  std::map<std::uint64_t, Written> early_;  ///< in order: those whose turn has not come
  std::uint64_t next_ = 0;
};

}  // namespace forebay::stream
