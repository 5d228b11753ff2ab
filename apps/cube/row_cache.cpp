// SPDX-License-Identifier: Apache-2.0
#include "cube/row_cache.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace forebay::cube {

/// Memory of released rows. New memory for a row costs more than reading the row from the page
/// cache, as each of its pages faults.
struct RowCache::Pool {
  explicit Pool(std::size_t locations) : row_length(locations) {}

  std::vector<double> acquire() {
    const std::lock_guard lock(mutex);
    if (free.empty()) return std::vector<double>(row_length);
    std::vector<double> values = std::move(free.back());
    free.pop_back();
    return values;
  }
  void release(std::vector<double> values) {
    const std::lock_guard lock(mutex);
    free.push_back(std::move(values));
  }

  const std::size_t row_length;
  std::mutex mutex;
  std::vector<std::vector<double>> free;  // guarded by mutex
};

class RowCache::Row {
 public:
  explicit Row(std::shared_ptr<Pool> pool) : pool_(std::move(pool)), values(pool_->acquire()) {}
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;
  ~Row() { pool_->release(std::move(values)); }

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

std::shared_ptr<RowCache::Row> RowCache::find_or_insert(const FlavoredRow& which) {
  std::shared_ptr<Row> oldest;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto found = lru_index_.find(which);
  if (found != lru_index_.end()) {
    lru_.splice(lru_.begin(), lru_, found->second);
    return lru_.front().second;
  }
  if (lru_.size() >= kept_rows_max_) {
    oldest = std::move(lru_.back().second);
    lru_index_.erase(lru_.back().first);
    lru_.pop_back();
    if (oldest.use_count() == 1) oldest.reset();  // the new row reuses its memory
  }
  lru_.emplace_front(which, std::make_shared<Row>(pool_));
  lru_index_.emplace(which, lru_.begin());
  ++read_count_;
  return lru_.front().second;
}

Result<RowCache::Handle> RowCache::get(const FlavoredRow& which, FlavorScratch& scratch) {
  std::shared_ptr<Row> row = find_or_insert(which);
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
