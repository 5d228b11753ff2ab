// SPDX-License-Identifier: Apache-2.0
#include "push/run_history.hpp"

#include <algorithm>

namespace forebay::push {

namespace {

/// Whether `later` is `earlier` at another offset.
bool is_translated(const Run& later, const Run& earlier, std::uint64_t distance) noexcept {
  return later.start - earlier.start == distance && later.size == earlier.size &&
         later.count == earlier.count && later.stride == earlier.stride &&
         later.size_step == earlier.size_step;
}

}  // namespace

bool RunHistory::append(std::uint64_t offset, std::uint64_t size) noexcept {
  if (extend(offset, size)) return true;
  if (size_ == runs_.size()) {
    std::copy(runs_.end() - kRunsMin, runs_.end(), runs_.begin());
    size_ = kRunsMin;
  }
  runs_[size_++] = {.start = offset, .size = size, .count = 1};
  return false;
}

bool RunHistory::extend(std::uint64_t offset, std::uint64_t size) noexcept {
  if (size_ == 0) return false;
  Run& newest = runs_[size_ - 1];
  if (newest.count > 1) {
    if (!newest.is_at(newest.count, offset, size)) return false;
    ++newest.count;
    return true;
  }
  if (size_ == 1 || runs_[size_ - 2].count > 1) return false;
  Run& before = runs_[size_ - 2];
  const std::uint64_t stride = newest.start - before.start;
  const std::uint64_t size_step = newest.size - before.size;
  if (offset - newest.start != stride || size - newest.size != size_step) return false;
  before.stride = stride;
  before.size_step = size_step;
  before.count = 3;
  --size_;
  return true;
}

bool RunHistory::may_repeat(std::size_t length) const noexcept {
  const std::uint64_t start = back(length).start;
  const std::uint64_t distance = back(0).start - start;
  if (distance == 0) return true;
  if (length + 1 < size_ && back(1).start - back(length + 1).start == distance) return true;
  return 2 * length < size_ && start - back(2 * length).start == distance;
}

bool RunHistory::is_linear(std::size_t age, std::size_t length) const noexcept {
  if (age + 2 * length >= size_) return false;
  const Run& middle = back(age + length);
  return back(age) - middle == middle - back(age + 2 * length);
}

Period RunHistory::period_of(std::size_t length) const noexcept {
  const Run& newest = back(0);
  const Run& earlier = back(length);
  const std::uint64_t distance = newest.start - earlier.start;
  const std::uint64_t size_distance = newest.size - earlier.size;
  Period period{.length = length};
  if (2 * length < size_) {
    const Run& oldest = back(2 * length);
    period.is_linear =
        earlier.start - oldest.start == distance && earlier.size - oldest.size == size_distance;
  }
  if (period.is_linear || (distance == 0 && size_distance == 0)) period.evidence = 1;
  if (!period.is_linear && size_distance != 0) return period;
  for (std::size_t age = 1; age + length < size_; ++age) {
    // If the newest run jumped, only runs that jumped as far confirm the period.
    const bool is_confirmed = is_translated(back(age), back(age + length), distance) ||
                              (period.evidence > 0 && is_linear(age, length));
    if (period.evidence >= kEvidenceMax || !is_confirmed) break;
    period.evidence += back(age).count > 1 ? 2 : 1;
  }
  return period;
}

Period RunHistory::find_period() const noexcept {
  Period best;
  for (std::size_t length = 1; length <= kPeriodMax && length < size_; ++length) {
    if (length > 1 && !may_repeat(length)) continue;
    const Period period = period_of(length);
    if (best.length == 0 || period.evidence > best.evidence) best = period;
  }
  return best;
}

}  // namespace forebay::push
