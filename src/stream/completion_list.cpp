// SPDX-License-Identifier: Apache-2.0
#include "stream/completion_list.hpp"

#include <algorithm>

namespace forebay::stream {

bool CompletionList::reserve() {
  if (kind_ == Completions::kNone) return true;
  const std::lock_guard lock(mutex_);
  if (reserved_ == kEntriesMax) return false;
  ++reserved_;
  return true;
}

void CompletionList::add(const Written& entry) {
  if (kind_ == Completions::kNone) return;
  const std::lock_guard lock(mutex_);
  if (kind_ == Completions::kAnyOrder) {
    ready_.push_back(entry);
    return;
  }
  early_.emplace(entry.submission, entry);
  while (!early_.empty() && early_.begin()->first == next_) {
    ready_.push_back(early_.begin()->second);
    early_.erase(early_.begin());
    ++next_;
  }
}

void CompletionList::forget() {
  if (kind_ == Completions::kNone) return;
  const std::lock_guard lock(mutex_);
  --reserved_;
}

std::size_t CompletionList::take(std::span<Written> into) {
  const std::lock_guard lock(mutex_);
  const std::size_t count = std::min(into.size(), ready_.size());
  const auto last = ready_.begin() + static_cast<std::ptrdiff_t>(count);
  std::copy(ready_.begin(), last, into.begin());
  ready_.erase(ready_.begin(), last);
  reserved_ -= count;
  return count;
}

}  // namespace forebay::stream
