// SPDX-License-Identifier: Apache-2.0
// Retries: sources that an agent must look at again at a certain time even if nobody tells it to:
// those in which somebody waits for memory that others hold, and those that are left to their own
// threads for a moment. There are few at any time.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace forebay::read {

class TransferSource;

/// Not thread-safe.
class Retries {
 public:
  /// A source that is here already keeps the earlier time.
  void add(std::shared_ptr<TransferSource> source, TimePoint when) {
    const auto known = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return entry.second == source; });
    if (known == entries_.end()) {
      entries_.emplace_back(when, std::move(source));
    } else {
      known->first = std::min(known->first, when);
    }
  }

  /// When the first one is due; no value if there is none.
  Deadline first() const {
    const auto earliest = std::min_element(entries_.begin(), entries_.end(), earlier);
    return earliest == entries_.end() ? Deadline() : Deadline(earliest->first);
  }

  /// One of them that fits, whenever it is due; null if there is none.
  template <class Fits>
  std::shared_ptr<TransferSource> any(Fits fits) const {
    for (const Entry& entry : entries_) {
      if (fits(*entry.second)) return entry.second;
    }
    return nullptr;
  }

  /// Moves out those that are due.
  template <class Use>
  void take_due(TimePoint now, Use use) {
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
