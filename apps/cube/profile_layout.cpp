// SPDX-License-Identifier: Apache-2.0
#include "cube/profile_layout.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "cube/container.hpp"
#include "cube/container_writer.hpp"

namespace forebay::cube {

namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

}  // namespace

std::uint64_t total_row_bytes(std::span<const NewRows> metrics) {
  std::uint64_t sum = 0;
  for (const NewRows& metric : metrics)
    sum += metric.row_bytes * metric.index.rows.size();
  return sum;
}

std::uint64_t row_bytes_max(std::span<const NewRows> metrics) {
  std::uint64_t most = 0;
  for (const NewRows& metric : metrics)
    most = std::max(most, metric.row_bytes);
  return most;
}

Status SegmentCollector::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  const bool is_adjacent =
      !segments_.empty() && segments_.back().offset + segments_.back().bytes.size() == offset;
  if (!is_adjacent) segments_.push_back({offset, {}});
  segments_.back().bytes.insert(segments_.back().bytes.end(), bytes.begin(), bytes.end());
  return {};
}

RowsSpec rows_spec(const NewRows& metric) {
  return {.metric_id = metric.metric_id,
          .row_bytes = metric.row_bytes,
          .row_count = metric.index.rows.size(),
          .format = metric.index.format};
}

// SegmentCollector never fails, so results of writing are ignored.
ProfileLayout plan_layout(const NewProfile& profile) {
  ArchiveLayout archive;
  SegmentCollector segments;
  ProfileLayout layout;
  for (const CopiedMember& member : profile.copied_members) {
    const MemberLayout member_layout = archive.append(member.name, member.content.size());
    static_cast<void>(write_member(segments, member_layout, bytes_of(member.content)));
  }
  for (const NewRows& metric : profile.metrics) {
    layout.rows.push_back(append_rows(archive, rows_spec(metric)));
    static_cast<void>(write_rows_framing(segments, layout.rows.back(), metric.index));
  }
  const MemberLayout anchor = archive.append(std::string(kAnchorName), profile.anchor.size());
  static_cast<void>(write_member(segments, anchor, bytes_of(profile.anchor)));
  static_cast<void>(write_segment(segments, archive.end()));
  layout.framing = segments.take();
  layout.file_bytes = archive.file_bytes();
  return layout;
}

namespace {

/// Merges two lists so that both end together.
std::vector<RowChunk> interleave(std::span<const RowChunk> some, std::span<const RowChunk> more) {
  std::vector<RowChunk> merged;
  merged.reserve(some.size() + more.size());
  std::size_t taken = 0;
  for (std::size_t i = 0; i < more.size(); ++i) {
    const std::size_t due = (2 * i + 1) * some.size() / (2 * more.size());
    for (; taken < due; ++taken)
      merged.push_back(some[taken]);
    merged.push_back(more[i]);
  }
  merged.insert(merged.end(), some.begin() + static_cast<std::ptrdiff_t>(taken), some.end());
  return merged;
}

}  // namespace

std::vector<RowChunk> plan_chunks(std::span<const NewRows> metrics, std::uint64_t chunk_bytes) {
  std::vector<RowChunk> chunks;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const std::uint64_t row_count = metrics[i].index.rows.size();
    const std::uint64_t row_bytes = std::max<std::uint64_t>(1, metrics[i].row_bytes);
    const std::uint64_t step = std::max<std::uint64_t>(1, chunk_bytes / row_bytes);
    for (std::uint64_t first = 0; first < row_count; first += step)
      chunks.push_back({i, first, std::min(step, row_count - first)});
  }
  std::ranges::sort(chunks, {}, [&](const RowChunk& chunk) {
    return std::tuple(metrics[chunk.metric].index.rows[chunk.first], chunk.metric);
  });
  const auto is_computed = [&](const RowChunk& chunk) {
    return metrics[chunk.metric].cost == RowCost::kCpu;
  };
  std::vector<RowChunk> computed;
  std::vector<RowChunk> copied;
  std::ranges::partition_copy(chunks, std::back_inserter(computed), std::back_inserter(copied),
                              is_computed);
  return interleave(computed, copied);
}

}  // namespace forebay::cube
