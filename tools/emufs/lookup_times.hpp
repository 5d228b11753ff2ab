// SPDX-License-Identifier: Apache-2.0
// When a system call on a path began. The kernel asks for the names on a path one by one, and then
// for what the program wanted: names cost nothing on the machine, so the time that FUSE takes for
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

/// Any thread.
class LookupTimes {
 public:
  /// A thread of a program looked a name up: it asked at `begin` and was answered at `end`.
  void add(pid_t thread, model::Time begin, model::Time end);
  /// When the first of the lookups began that led to what this thread asked for at `asked`; none if
  /// there were none just before. They are forgotten.
  std::optional<model::Time> take(pid_t thread, model::Time asked);

 private:
  /// What has to do with each other is not further apart: waking a program, and hearing of it.
  static constexpr std::chrono::microseconds kApartMost{200};

  struct Entry {
    pid_t thread = 0;
    model::Time begin = {};
    model::Time end = {};
  };
  Entry& entry_of(pid_t thread) {
    return entries_[static_cast<std::size_t>(thread) % entries_.size()];
  }

  std::mutex mutex_;
  std::array<Entry, 256> entries_;  ///< two threads that meet in one lose a few microseconds
};

}  // namespace forebay::emufs
