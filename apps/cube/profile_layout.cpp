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

std::uint64_t all_row_bytes(std::span<const NewRows> metrics) {
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

Status PieceCollector::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  if (bytes.empty()) return {};
  const bool is_neighbour =
      !pieces_.empty() && pieces_.back().offset + pieces_.back().bytes.size() == offset;
  if (!is_neighbour) pieces_.push_back({offset, {}});
  pieces_.back().bytes.insert(pieces_.back().bytes.end(), bytes.begin(), bytes.end());
  return {};
}

RowsShape rows_shape(const NewRows& metric) {
  return {.metric_id = metric.metric_id,
          .row_bytes = metric.row_bytes,
          .row_count = metric.index.rows.size(),
          .format = metric.index.format};
}

// Collecting cannot fail, so results of writing are not looked at.
ProfileLayout plan_layout(const NewProfile& profile) {
  ArchiveLayout archive;
  PieceCollector pieces;
  ProfileLayout layout;
  for (const CarriedMember& member : profile.carried) {
    const MemberPlace place = archive.append(member.name, member.content.size());
    static_cast<void>(write_member(pieces, place, bytes_of(member.content)));
  }
  for (const NewRows& metric : profile.metrics) {
    layout.rows.push_back(append_rows(archive, rows_shape(metric)));
    static_cast<void>(write_around_rows(pieces, layout.rows.back(), metric.index));
  }
  const MemberPlace anchor = archive.append(std::string(kAnchorName), profile.anchor.size());
  static_cast<void>(write_member(pieces, anchor, bytes_of(profile.anchor)));
  static_cast<void>(write_piece(pieces, archive.end()));
  layout.frame = pieces.take();
  layout.file_bytes = archive.file_bytes();
  return layout;
}

namespace {

/// Merges two lists so that both come to their ends together.
std::vector<RowChunk> spread_evenly(std::span<const RowChunk> some,
                                    std::span<const RowChunk> more) {
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
    return metrics[chunk.metric].effort == RowEffort::kComputed;
  };
  std::vector<RowChunk> computed;
  std::vector<RowChunk> copied;
  std::ranges::partition_copy(chunks, std::back_inserter(computed), std::back_inserter(copied),
                              is_computed);
  return spread_evenly(computed, copied);
}

}  // namespace forebay::cube
