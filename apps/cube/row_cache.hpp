// SPDX-License-Identifier: Apache-2.0
// Rows of measured metrics as numbers, kept in memory while others of the same call path need them:
// so that a row of which ten metrics are computed is read once. Memory of rows is used again.
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

/// Thread-safe. A row that several threads ask for is read by one of them.
class RowCache {
 public:
  /// A row, kept as long as somebody holds it.
  class Row;
  using Handle = std::shared_ptr<const Row>;

  /// Rows that nobody holds take at most `budget_bytes`, or one row. `rows` outlives it.
  RowCache(const MetricRows& rows, std::uint64_t budget_bytes);
  ~RowCache();

  /// Reads the row unless it is here. Fails as MetricRows::read_numbers().
  Result<Handle> get(const FlavouredRow& which, FlavourScratch& scratch);
  static std::span<const double> values_of(const Row& row);

  /// Whether all values are known to be zero.
  bool is_zero(const FlavouredRow& which) const { return rows_.is_zero(which); }

  /// How many rows one thread may hold: what the budget has room for, and in any case each metric
  /// in both flavours, which is what an expression of one call path can ask for.
  std::size_t held_rows_max() const noexcept { return held_rows_max_; }

  /// How many rows were read so far.
  std::uint64_t read_count() const;

 private:
  struct Pool;
  struct Hash {
    std::size_t operator()(const FlavouredRow& row) const noexcept {
      return (row.metric * 0x9e3779b97f4a7c15U) ^ (std::size_t{row.place} << 1U) ^
             static_cast<std::size_t>(row.flavour);
    }
  };
  using Recent = std::list<std::pair<FlavouredRow, std::shared_ptr<Row>>>;
  std::shared_ptr<Row> entry_of(const FlavouredRow& which);

  const MetricRows& rows_;
  const std::size_t kept_rows_max_;
  const std::size_t held_rows_max_;
  const std::shared_ptr<Pool> pool_;
  mutable std::mutex mutex_;  // guards what follows
  Recent recent_;             // the last one used comes first
  std::unordered_map<FlavouredRow, Recent::iterator, Hash> places_;
  std::uint64_t read_count_ = 0;
};

}  // namespace forebay::cube
