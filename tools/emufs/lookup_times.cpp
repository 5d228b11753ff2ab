// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/lookup_times.hpp"

namespace forebay::emufs {

void LookupTimes::add(pid_t thread, model::Time begin, model::Time end) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entry_of(thread);
  const bool is_continued = entry.thread == thread && begin - entry.end <= kGapMax;
  entry = {thread, is_continued ? entry.begin : begin, end};
}

std::optional<model::Time> LookupTimes::consume(pid_t thread, model::Time request_time) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entry_of(thread);
  if (entry.thread != thread) return std::nullopt;
  const Entry found = entry;
  entry = {};
  if (request_time - found.end > kGapMax) return std::nullopt;
  return found.begin;
}

}  // namespace forebay::emufs
