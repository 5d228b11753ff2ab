// SPDX-License-Identifier: Apache-2.0
// When a system call on a path began. The kernel looks up the names of a path one by one before it
// sends the program's request. Lookups cost nothing on the machine, so the time that FUSE takes for
// them must not count either.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include <sys/types.h>

#include "model/storage_model.hpp"

namespace forebay::emufs {

/// Thread-safe.
class LookupTimes {
 public:
  /// A thread of a program looked up a name: the request came at `begin`, the reply was sent at
  /// `end`.
  void add(pid_t thread, model::Time begin, model::Time end);
  /// When the first lookup began that belongs to this thread's request at `request_time`; none
  /// without a lookup just before. Removes them.
  std::optional<model::Time> consume(pid_t thread, model::Time request_time);

 private:
  /// Two related requests are at most this far apart: the time to wake a program and receive its
  /// next request.
  static constexpr std::chrono::microseconds kGapMax{200};

  struct Entry {
    pid_t thread = 0;
    model::Time begin = {};
    model::Time end = {};
  };
  Entry& entry_of(pid_t thread) {
    return entries_[static_cast<std::size_t>(thread) % entries_.size()];
  }

  std::mutex mutex_;
  std::array<Entry, 256> entries_;  ///< two threads that share an entry lose a few microseconds
};

}  // namespace forebay::emufs
