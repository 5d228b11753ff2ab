// SPDX-License-Identifier: Apache-2.0
#include "cube/row_cache.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace forebay::cube {

/// Memory of rows that are gone: fresh memory of a row costs more than reading it from the page
/// cache, as each of its pages is a fault.
struct RowCache::Pool {
  explicit Pool(std::size_t locations) : row_length(locations) {}

  std::vector<double> take() {
    const std::lock_guard lock(mutex);
    if (free.empty()) return std::vector<double>(row_length);
    std::vector<double> values = std::move(free.back());
    free.pop_back();
    return values;
  }
  void give(std::vector<double> values) {
    const std::lock_guard lock(mutex);
    free.push_back(std::move(values));
  }

  const std::size_t row_length;
  std::mutex mutex;
  std::vector<std::vector<double>> free;  // guarded by mutex
};

class RowCache::Row {
 public:
  explicit Row(std::shared_ptr<Pool> pool) : pool_(std::move(pool)), values(pool_->take()) {}
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;
  ~Row() { pool_->give(std::move(values)); }

 private:
  const std::shared_ptr<Pool> pool_;

 public:
  std::once_flag once;
  std::optional<Error> error;
  std::vector<double> values;
};

RowCache::RowCache(const MetricRows& rows, std::uint64_t budget_bytes)
    : rows_(rows),
      kept_rows_max_(std::max<std::uint64_t>(
          1,
          budget_bytes / (sizeof(double) *
                          std::max<std::uint64_t>(1, rows.profile().anchor().location_count())))),
      held_rows_max_(std::max(kept_rows_max_, 2 * rows.profile().anchor().metrics.size())),
      pool_(std::make_shared<Pool>(rows.profile().anchor().location_count())) {}

RowCache::~RowCache() = default;

std::shared_ptr<RowCache::Row> RowCache::entry_of(const FlavouredRow& which) {
  std::shared_ptr<Row> oldest;  // goes when the lock is gone
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(which);
  if (found != places_.end()) {
    recent_.splice(recent_.begin(), recent_, found->second);
    return recent_.front().second;
  }
  if (recent_.size() >= kept_rows_max_) {
    oldest = std::move(recent_.back().second);
    places_.erase(recent_.back().first);
    recent_.pop_back();
    if (oldest.use_count() == 1) oldest.reset();  // its memory is that of the new one
  }
  recent_.emplace_front(which, std::make_shared<Row>(pool_));
  places_.emplace(which, recent_.begin());
  ++read_count_;
  return recent_.front().second;
}

Result<RowCache::Handle> RowCache::get(const FlavouredRow& which, FlavourScratch& scratch) {
  std::shared_ptr<Row> row = entry_of(which);
  std::call_once(row->once, [&] {
    const Status read = rows_.read_numbers(which, row->values, scratch);
    if (!read) row->error = read.error();
  });
  if (row->error) return failure(*row->error);
  return Handle(std::move(row));
}

std::span<const double> RowCache::values_of(const Row& row) { return row.values; }

std::uint64_t RowCache::read_count() const {
  const std::lock_guard lock(mutex_);
  return read_count_;
}

}  // namespace forebay::cube
