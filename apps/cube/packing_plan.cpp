// SPDX-License-Identifier: Apache-2.0
#include "cube/packing_plan.hpp"

#include <algorithm>
#include <utility>

#include "cube/container.hpp"
#include "cube/container_writer.hpp"
#include "cube/tar.hpp"

namespace forebay::cube {

namespace {

std::uint64_t cost_of_row(const NewRows& metric) { return metric.row_bytes + kPackedRowCostBytes; }

std::uint64_t cost_of(std::span<const NewRows> metrics) {
  std::uint64_t sum = 0;
  for (const NewRows& metric : metrics)
    sum += cost_of_row(metric) * metric.index.rows.size();
  return sum;
}

std::uint64_t quotient_up(std::uint64_t a, std::uint64_t b) { return a / b + (a % b == 0 ? 0 : 1); }

/// All rows as one sequence, from which shares are cut.
class RowSequence {
 public:
  explicit RowSequence(std::span<const NewRows> metrics) : metrics_(metrics) {}

  /// The rows that begin before `end`, counted in costs from the beginning, and were not taken yet.
  std::vector<RowChunk> take_until(std::uint64_t end) {
    std::vector<RowChunk> share;
    while (metric_ < metrics_.size()) {
      const std::uint64_t cost = cost_of_row(metrics_[metric_]);
      const std::uint64_t count = metrics_[metric_].index.rows.size();
      const std::uint64_t rows_before = quotient_up(end - std::min(end, begin_), cost);
      const std::uint64_t stop = std::clamp(rows_before, first_, count);
      if (stop > first_) share.push_back({metric_, first_, stop - first_});
      first_ = stop;
      if (stop < count) break;
      begin_ += cost * count;
      first_ = 0;
      ++metric_;
    }
    return share;
  }

 private:
  std::span<const NewRows> metrics_;
  std::size_t metric_ = 0;
  std::uint64_t first_ = 0;  // of its rows that was not taken
  std::uint64_t begin_ = 0;  // costs of all metrics before it
};

}  // namespace

std::vector<std::vector<RowChunk>> plan_shares(std::span<const NewRows> metrics,
                                               const PackingShape& shape) {
  const std::uint64_t total = cost_of(metrics);
  const std::uint64_t round_bytes = shape.ranks * std::max<std::uint64_t>(1, shape.share_bytes);
  const std::uint64_t rounds = std::max<std::uint64_t>(1, quotient_up(total, round_bytes));
  const std::uint64_t count = rounds * shape.ranks;
  std::vector<std::vector<RowChunk>> shares;
  RowSequence rows(metrics);
  // total * i / count, where the product may be too large.
  for (std::uint64_t i = 1; i <= count; ++i)
    shares.push_back(rows.take_until(total / count * i + total % count * i / count));
  return shares;
}

PackedLayout::PackedLayout(const NewProfile& profile) : profile_(profile) {
  for (const CarriedMember& member : profile_.carried)
    add(member.name, member.content);
  begin_metric();
  end_full_metrics();
}

std::uint64_t PackedLayout::place(std::uint64_t size_bytes) {
  const std::uint64_t offset = next_row_offset_;
  sizes_.push_back(size_bytes);
  next_row_offset_ += size_bytes;
  end_full_metrics();
  return offset;
}

std::vector<Piece> PackedLayout::take_frame() { return frame_.take(); }

/// The table has a known length, so rows are placed as they come.
void PackedLayout::begin_metric() {
  if (metric_ == profile_.metrics.size()) return end();
  const std::uint64_t rows = profile_.metrics[metric_].index.rows.size();
  next_row_offset_ = archive_.end_offset() + kTarBlockBytes + packed_head_bytes(rows);
}

// Collecting cannot fail, so results of writing are not looked at.
void PackedLayout::end_full_metrics() {
  while (metric_ < profile_.metrics.size() &&
         sizes_.size() == profile_.metrics[metric_].index.rows.size()) {
    const NewRows& metric = profile_.metrics[metric_++];
    RowsShape shape = rows_shape(metric);
    shape.packed_bytes = std::exchange(sizes_, {});
    const RowsPlace place = append_rows(archive_, shape);
    static_cast<void>(write_around_rows(frame_, place, metric.index));
    begin_metric();
  }
}

void PackedLayout::add(const std::string& name, const std::string& content) {
  const MemberPlace place = archive_.append(name, content.size());
  static_cast<void>(write_member(frame_, place, std::as_bytes(std::span(content))));
}

void PackedLayout::end() {
  add(std::string(kAnchorName), profile_.anchor);
  static_cast<void>(write_piece(frame_, archive_.end()));
}

}  // namespace forebay::cube
