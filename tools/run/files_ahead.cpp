// SPDX-License-Identifier: Apache-2.0
#include "tools/run/files_ahead.hpp"

#include <algorithm>
#include <utility>

#include "push/file_series.hpp"

namespace forebay::run {

namespace {

/// Names of a series that decide.
constexpr std::size_t kSeriesNames = 4;
/// Names that are kept, to return none again. A longer process may have a name returned twice.
constexpr std::size_t kKnownMax = 65'536;

}  // namespace

FilesAhead::FilesAhead(std::vector<std::string> planned) : planned_(std::move(planned)) {
  for (std::size_t i = 0; i < planned_.size(); ++i)
    places_.emplace(planned_[i], i);
}

FilesAhead::Next FilesAhead::open(const std::string& path) {
  Next next;
  if (known_.size() >= kKnownMax) known_.clear();
  known_.insert(path);
  const auto place = places_.find(path);
  if (place != places_.end()) reached_ = std::max(reached_, place->second + 1);
  if (has_waited_) advance(next);
  if (series_.empty() || series_.back() != path) {
    if (series_.size() == kSeriesNames) series_.erase(series_.begin());
    series_.push_back(path);
  }
  if (is_series_useful_) continue_series(next);
  return next;
}

FilesAhead::Next FilesAhead::wait() {
  Next next;
  if (!std::exchange(has_waited_, true)) advance(next);
  return next;
}

void FilesAhead::advance(Next& next) {
  const std::size_t end = std::min(planned_.size(), reached_ + kPlannedAhead);
  for (; next_ < end; ++next_)
    if (known_.insert(planned_[next_]).second) next.planned.push_back(planned_[next_]);
}

void FilesAhead::continue_series(Next& next) {
  std::vector<std::string> names = series_;
  for (std::size_t i = 0; i < kSeriesAhead; ++i) {
    auto name = push::next_in_series(names);
    if (!name) return;
    if (known_.insert(*name).second) next.series.push_back(*name);
    names.push_back(std::move(*name));
  }
}

}  // namespace forebay::run
