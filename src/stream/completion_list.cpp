// SPDX-License-Identifier: Apache-2.0
#include "stream/completion_list.hpp"

#include <algorithm>

namespace forebay::stream {

bool CompletionList::reserve() {
  if (kind_ == CompletionOrder::kNone) return true;
  const std::lock_guard lock(mutex_);
  if (reserved_ == kEntriesMax) return false;
  ++reserved_;
  return true;
}

void CompletionList::add(const WriteCompletion& entry) {
  if (kind_ == CompletionOrder::kNone) return;
  const std::lock_guard lock(mutex_);
  if (kind_ == CompletionOrder::kAnyOrder) {
    ready_.push_back(entry);
    return;
  }
  out_of_order_.emplace(entry.submission, entry);
  while (!out_of_order_.empty() && out_of_order_.begin()->first == next_) {
    ready_.push_back(out_of_order_.begin()->second);
    out_of_order_.erase(out_of_order_.begin());
    ++next_;
  }
}

void CompletionList::cancel_reservation() {
  if (kind_ == CompletionOrder::kNone) return;
  const std::lock_guard lock(mutex_);
  --reserved_;
}

std::size_t CompletionList::take(std::span<WriteCompletion> into) {
  const std::lock_guard lock(mutex_);
  const std::size_t count = std::min(into.size(), ready_.size());
  const auto last = ready_.begin() + static_cast<std::ptrdiff_t>(count);
  std::copy(ready_.begin(), last, into.begin());
  ready_.erase(ready_.begin(), last);
  reserved_ -= count;
  return count;
}

}  // namespace forebay::stream
