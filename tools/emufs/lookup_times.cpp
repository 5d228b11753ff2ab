// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/lookup_times.hpp"

namespace forebay::emufs {

void LookupTimes::add(pid_t thread, model::Time begin, model::Time end) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entry_of(thread);
  const bool goes_on = entry.thread == thread && begin - entry.end <= kApartMost;
  entry = {thread, goes_on ? entry.begin : begin, end};
}

std::optional<model::Time> LookupTimes::take(pid_t thread, model::Time asked) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entry_of(thread);
  if (entry.thread != thread) return std::nullopt;
  const Entry found = entry;
  entry = {};
  if (asked - found.end > kApartMost) return std::nullopt;
  return found.begin;
}

}  // namespace forebay::emufs
