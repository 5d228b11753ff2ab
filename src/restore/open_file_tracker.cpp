// SPDX-License-Identifier: Apache-2.0
#include "restore/open_file_tracker.hpp"

#include <utility>

namespace forebay::restore {

Result<std::shared_ptr<storage::File>> OpenFileTracker::open(const format::StepFile& file) {
  auto opened = format::open_step_file(file);
  if (!opened || file.file) return opened;
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->open;
  }
  storage::File* const raw = opened->get();
  return std::shared_ptr<storage::File>(
      raw, [held = std::move(*opened), count = state_](storage::File* /*raw*/) mutable {
        held.reset();
        const std::lock_guard lock(count->mutex);
        --count->open;
        ++count->closed;
        count->changed.notify_all();
      });
}

Result<std::shared_ptr<storage::File>> OpenFileTracker::open_with_timeout(
    const format::StepFile& file, std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const auto closed_now = [&] {
    const std::lock_guard lock(state_->mutex);
    return state_->closed;
  };
  while (true) {
    const std::size_t closed = closed_now();
    auto opened = open(file);
    if (opened || opened.error().kind() != ErrorClass::kLimit) return opened;
    std::unique_lock lock(state_->mutex);
    const auto is_worth_trying = [&] { return state_->closed != closed || state_->open == 0; };
    if (state_->open == 0 && state_->closed == closed) return opened;
    if (!state_->changed.wait_until(lock, deadline, is_worth_trying)) return opened;
  }
}

}  // namespace forebay::restore
