// SPDX-License-Identifier: Apache-2.0
#include "push/run_plan.hpp"

#include <limits>

namespace forebay::push {

namespace {

/// A count that decreased below 0 is a large number.
bool is_empty(const Run& run) noexcept {
  return run.count == 0 || run.count > std::numeric_limits<std::int64_t>::max();
}

/// The run that has just begun, in the shape of its predecessor.
Run begun_run(const RunHistory& history, const Period& period) noexcept {
  Run run = history.back(period.length);
  if (period.is_linear) run = run + run - history.back(2 * period.length);
  if (is_empty(run)) run.count = 1;
  run.start = history.back(0).start;
  run.size = history.back(0).size;
  return run;
}

}  // namespace

void RunPlan::follow(const Run& run) noexcept {
  length_ = 1;
  items_[0] = {
      .run = {.start = run.offset_at(run.count), .size = run.size_at(run.count), .count = 1},
      .step = {.start = run.stride, .size = run.size_step}};
  cursor_ = {};
  enter_run(cursor_);
}

void RunPlan::repeat(const RunHistory& history, const Period& period) noexcept {
  const Run begun = begun_run(history, period);
  const std::uint64_t distance = begun.start - history.back(period.length).start;
  length_ = period.length;
  for (std::size_t i = 0; i < length_; ++i) {
    const std::size_t age = length_ - 1 - i;
    const Run& run = age == 0 ? begun : history.back(age);
    Run step{.start = distance};
    if (age + length_ < history.size()) step = run - history.back(age + length_);
    items_[i] = {run + step, step};
  }
  cursor_ = {.run = begun, .is_done = false};
  advance();
}

void RunPlan::enter_run(RunCursor& cursor) const noexcept {
  cursor.is_done = true;
  for (std::size_t tries = 0; tries < length_ && cursor.is_done; ++tries) {
    const Item& item = items_[cursor.item];
    cursor.run = item.run + item.step * cursor.repetition;
    cursor.run.start += cursor.shift;
    cursor.is_done = is_empty(cursor.run);
    if (++cursor.item < length_) continue;
    cursor.item = 0;
    ++cursor.repetition;
  }
  cursor.index = 0;
}

void RunPlan::advance(RunCursor& cursor) const noexcept {
  if (++cursor.index >= cursor.run.count) enter_run(cursor);
}

bool RunPlan::skip_to(std::uint64_t offset, std::uint64_t size) noexcept {
  if (cursor_.is_done || cursor_.index == 0) return false;
  RunCursor skipped = cursor_;
  enter_run(skipped);
  if (!skipped.is_at(offset, size)) return false;
  cursor_ = skipped;
  advance();
  return true;
}

bool RunPlan::shift_to(std::uint64_t offset, std::uint64_t size) noexcept {
  const bool is_sequence = length_ > 1 || items_[0].run.count > 1;
  if (cursor_.is_done || cursor_.index > 0 || !is_sequence || cursor_.size() != size) return false;
  const std::uint64_t distance = offset - cursor_.offset();
  cursor_.shift += distance;
  cursor_.run.start += distance;
  advance();
  return true;
}

}  // namespace forebay::push
