// SPDX-License-Identifier: Apache-2.0
// TimerQueue: sources that an agent must check at a certain time, without a notification. Either
// their requests wait for memory, or they are left to their tasks' threads for a moment. The queue
// is short at any time.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace forebay::read {

class TransferSource;

/// Not thread-safe.
class TimerQueue {
 public:
  /// A source that is queued already keeps the earlier time.
  void add(std::shared_ptr<TransferSource> source, TimePoint when) {
    const auto known = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.second == source; });
    if (known == entries_.end()) {
      entries_.emplace_back(when, std::move(source));
    } else {
      known->first = std::min(known->first, when);
    }
  }

  /// The earliest time; none if the queue is empty.
  Deadline next_deadline() const {
    const auto earliest = std::min_element(entries_.begin(), entries_.end(), earlier);
    return earliest == entries_.end() ? Deadline() : Deadline(earliest->first);
  }

  /// A queued source for which `fits` is true, due or not; null if there is none.
  template <class Fits>
  std::shared_ptr<TransferSource> find_any(Fits fits) const {
    for (const Entry& entry : entries_) {
      if (fits(*entry.second)) return entry.second;
    }
    return nullptr;
  }

  /// Removes the sources that are due, and passes each to `use`.
  template <class Use>
  void pop_expired(TimePoint now, Use use) {
    const auto due = std::partition(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.first > now; });
    for (auto entry = due; entry != entries_.end(); ++entry)
      use(std::move(entry->second));
    entries_.erase(due, entries_.end());
  }

 private:
  using Entry = std::pair<TimePoint, std::shared_ptr<TransferSource>>;
  static bool earlier(const Entry& a, const Entry& b) { return a.first < b.first; }
  std::vector<Entry> entries_;
};

}  // namespace forebay::read
