// SPDX-License-Identifier: Apache-2.0
#include "restore/open_files.hpp"

#include <utility>

namespace forebay::restore {

Result<std::shared_ptr<storage::File>> OpenFiles::open(const format::StepFile& file) {
  auto opened = format::file_of(file);
  if (!opened || file.file) return opened;
  {
    const std::lock_guard lock(count_->mutex);
    ++count_->open;
  }
  storage::File* const raw = opened->get();
  return std::shared_ptr<storage::File>(
      raw, [held = std::move(*opened), count = count_](storage::File* /*raw*/) mutable {
        held.reset();
        const std::lock_guard lock(count->mutex);
        --count->open;
        ++count->closed;
        count->changed.notify_all();
      });
}

Result<std::shared_ptr<storage::File>> OpenFiles::open_patiently(
    const format::StepFile& file, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const auto closed_now = [&] {
    const std::lock_guard lock(count_->mutex);
    return count_->closed;
  };
  while (true) {
    const std::size_t closed = closed_now();
    auto opened = open(file);
    if (opened || opened.error().kind() != ErrorClass::kLimit) return opened;
    std::unique_lock lock(count_->mutex);
    const auto is_worth_trying = [&] { return count_->closed != closed || count_->open == 0; };
    if (count_->open == 0 && count_->closed == closed) return opened;
    if (!count_->changed.wait_until(lock, deadline, is_worth_trying)) return opened;
  }
}

}  // namespace forebay::restore
