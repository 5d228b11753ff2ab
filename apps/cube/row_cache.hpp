// SPDX-License-Identifier: Apache-2.0
// A cache of measured rows as numbers, so that a row from which ten metrics are computed is read
// once. Memory of evicted rows is reused.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "cube/metric_rows.hpp"

namespace forebay::cube {

/// Thread-safe. If several threads request the same row, one of them reads it.
class RowCache {
 public:
  /// A row; it is kept in memory while any Handle refers to it.
  class Row;
  using Handle = std::shared_ptr<const Row>;

  /// Rows without a Handle take at most `budget_bytes`, or one row. `rows` must outlive the object.
  RowCache(const MetricRows& rows, std::uint64_t budget_bytes);
  ~RowCache();

  /// Returns the row; reads it if it is not cached. Blocks. Fails as MetricRows::read_numbers().
  Result<Handle> get(const FlavoredRow& which, FlavorScratch& scratch);
  static std::span<const double> values_of(const Row& row);

  /// Whether all values are known to be zero, without reading them.
  bool is_zero(const FlavoredRow& which) const { return rows_.is_zero(which); }

  /// The number of rows that one thread may hold: as many as fit the budget, and in any case two
  /// per metric, one in each flavor. An expression of one call path can request that many.
  std::size_t held_rows_max() const noexcept { return held_rows_max_; }

  /// The number of rows read so far.
  std::uint64_t read_count() const;

 private:
  struct Pool;
  struct Hash {
    std::size_t operator()(const FlavoredRow& row) const noexcept {
      return (row.metric * 0x9e3779b97f4a7c15U) ^ (std::size_t{row.call_path} << 1U) ^
             static_cast<std::size_t>(row.flavor);
    }
  };
  using LruList = std::list<std::pair<FlavoredRow, std::shared_ptr<Row>>>;
  std::shared_ptr<Row> find_or_insert(const FlavoredRow& which);

  const MetricRows& rows_;
  const std::size_t kept_rows_max_;
  const std::size_t held_rows_max_;
  const std::shared_ptr<Pool> pool_;
  mutable std::mutex mutex_;  // guards the members below
  LruList lru_;               // most recently used first
  std::unordered_map<FlavoredRow, LruList::iterator, Hash> lru_index_;
  std::uint64_t read_count_ = 0;
};

}  // namespace forebay::cube
