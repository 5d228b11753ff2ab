// SPDX-License-Identifier: Apache-2.0
#include "cube/compressed_layout.hpp"

#include <algorithm>
#include <utility>

#include "cube/container.hpp"
#include "cube/container_writer.hpp"
#include "cube/tar.hpp"

namespace forebay::cube {

namespace {

std::uint64_t cost_of_row(const NewRows& metric) {
  return metric.row_bytes + kCompressedRowOverheadBytes;
}

std::uint64_t cost_of(std::span<const NewRows> metrics) {
  std::uint64_t sum = 0;
  for (const NewRows& metric : metrics)
    sum += cost_of_row(metric) * metric.index.rows.size();
  return sum;
}

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return a / b + (a % b == 0 ? 0 : 1); }

/// All rows as one sequence, which is split into shares.
class RowSequence {
 public:
  explicit RowSequence(std::span<const NewRows> metrics) : metrics_(metrics) {}

  /// Takes the rows that begin before `end`, a cost counted from the beginning, and were not taken
  /// yet.
  std::vector<RowChunk> take_until(std::uint64_t end) {
    std::vector<RowChunk> share;
    while (metric_ < metrics_.size()) {
      const std::uint64_t cost = cost_of_row(metrics_[metric_]);
      const std::uint64_t count = metrics_[metric_].index.rows.size();
      const std::uint64_t rows_before = ceil_div(end - std::min(end, begin_), cost);
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
  std::uint64_t first_ = 0;  // the next of its rows
  std::uint64_t begin_ = 0;  // cost of all metrics before it
};

}  // namespace

std::vector<std::vector<RowChunk>> plan_compression_shares(std::span<const NewRows> metrics,
                                                           const CompressionPlan& plan) {
  const std::uint64_t total = cost_of(metrics);
  const std::uint64_t round_bytes = plan.ranks * std::max<std::uint64_t>(1, plan.share_bytes);
  const std::uint64_t rounds = std::max<std::uint64_t>(1, ceil_div(total, round_bytes));
  const std::uint64_t count = rounds * plan.ranks;
  std::vector<std::vector<RowChunk>> shares;
  RowSequence rows(metrics);
  // total * i / count, without overflow of the product.
  for (std::uint64_t i = 1; i <= count; ++i)
    shares.push_back(rows.take_until(total / count * i + total % count * i / count));
  return shares;
}

CompressedLayout::CompressedLayout(const NewProfile& profile) : profile_(profile) {
  for (const CopiedMember& member : profile_.copied_members)
    append_member(member.name, member.content);
  begin_metric();
  end_full_metrics();
}

std::uint64_t CompressedLayout::append_row(std::uint64_t size_bytes) {
  const std::uint64_t offset = next_row_offset_;
  sizes_.push_back(size_bytes);
  next_row_offset_ += size_bytes;
  end_full_metrics();
  return offset;
}

std::vector<FileSegment> CompressedLayout::take_framing() { return framing_.take(); }

/// The table has a known size, so rows are placed before it is complete.
void CompressedLayout::begin_metric() {
  if (metric_ == profile_.metrics.size()) return append_trailer();
  const std::uint64_t rows = profile_.metrics[metric_].index.rows.size();
  next_row_offset_ = archive_.end_offset() + kTarBlockBytes + compressed_header_bytes(rows);
}

// SegmentCollector never fails, so results of writing are ignored.
void CompressedLayout::end_full_metrics() {
  while (metric_ < profile_.metrics.size() &&
         sizes_.size() == profile_.metrics[metric_].index.rows.size()) {
    const NewRows& metric = profile_.metrics[metric_++];
    RowsSpec spec = rows_spec(metric);
    spec.compressed_bytes = std::exchange(sizes_, {});
    const RowsLayout layout = append_rows(archive_, spec);
    static_cast<void>(write_rows_framing(framing_, layout, metric.index));
    begin_metric();
  }
}

void CompressedLayout::append_member(const std::string& name, const std::string& content) {
  const MemberLayout member = archive_.append(name, content.size());
  static_cast<void>(write_member(framing_, member, std::as_bytes(std::span(content))));
}

void CompressedLayout::append_trailer() {
  append_member(std::string(kAnchorName), profile_.anchor);
  static_cast<void>(write_segment(framing_, archive_.end()));
}

}  // namespace forebay::cube
