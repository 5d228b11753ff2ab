// SPDX-License-Identifier: Apache-2.0
// Layouts and chunks of many shapes: every byte of the file is written exactly once.
#include "cube/profile_layout.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "command/random.hpp"

namespace forebay::cube {
namespace {

std::vector<NewRows> metrics_of(command::Random& random) {
  std::vector<NewRows> metrics(random.bits() % 7);
  const std::uint64_t locations = 1 + random.bits() % 200;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    metrics[i].metric_id = static_cast<std::uint32_t>(3 * i);
    metrics[i].row_bytes = locations * (1 + random.bits() % 40);
    std::vector<std::uint32_t> rows;
    for (std::uint32_t row = 0; row < 60; ++row)
      if (random.bits() % 3 > 0) rows.push_back(row);
    metrics[i].index.rows = std::move(rows);
  }
  return metrics;
}

/// A metric with rows 0, 1, ...
NewRows rows_of(std::uint32_t count, std::uint64_t row_bytes) {
  NewRows metric{.row_bytes = row_bytes};
  metric.index.rows = RowNumbers::dense(count);
  return metric;
}

/// Whether these ranges cover [0, size_bytes) without gaps and overlaps.
bool covers(std::vector<ByteRange> ranges, std::uint64_t size_bytes) {
  std::ranges::sort(ranges, {}, &ByteRange::offset);
  std::uint64_t end = 0;
  for (const ByteRange& range : ranges) {
    if (range.offset != end) return false;
    end = range.end();
  }
  return end == size_bytes;
}

TEST(ProfileLayout, every_byte_is_written_once) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    command::Random random(seed, 0);
    const NewProfile profile{.copied_members = {{"notes", std::string(random.bits() % 1500, 'n')}},
                             .metrics = metrics_of(random),
                             .anchor = std::string(1 + random.bits() % 3000, 'a')};
    const ProfileLayout layout = plan_layout(profile);
    std::vector<ByteRange> ranges;
    for (const FileSegment& segment : layout.framing)
      ranges.push_back({segment.offset, segment.bytes.size()});
    for (const RowChunk& chunk : plan_chunks(profile.metrics, random.bits() % 20000)) {
      const RowsLayout& rows = layout.rows[chunk.metric];
      ranges.push_back({rows.row(chunk.first).offset, rows.row_bytes * chunk.count});
    }
    ASSERT_TRUE(covers(ranges, layout.file_bytes)) << "seed " << seed;
  }
}

TEST(ProfileLayout, framing_segments_are_not_adjacent) {
  command::Random random(1, 0);
  const ProfileLayout layout = plan_layout({.metrics = metrics_of(random), .anchor = "anchor"});
  for (std::size_t i = 1; i < layout.framing.size(); ++i) {
    const FileSegment& before = layout.framing[i - 1];
    EXPECT_LT(before.offset + before.bytes.size(), layout.framing[i].offset);
  }
}

TEST(ProfileChunks, have_maximum_size_and_at_least_one_row) {
  const std::vector metrics{rows_of(10, 800)};
  using Chunks = std::vector<RowChunk>;
  EXPECT_EQ(plan_chunks(metrics, 3999), (Chunks{{0, 0, 4}, {0, 4, 4}, {0, 8, 2}}));
  EXPECT_EQ(plan_chunks(metrics, 1).size(), 10U);
  EXPECT_EQ(plan_chunks(metrics, 1U << 20U), (Chunks{{0, 0, 10}}));
}

TEST(ProfileChunks, of_equal_call_paths_are_adjacent) {
  const std::vector metrics(3, rows_of(4, 8));
  const auto chunks = plan_chunks(metrics, 16);
  ASSERT_EQ(chunks.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_EQ(chunks[i], (RowChunk{i % 3, i < 3 ? 0U : 2U, 2}));
}

TEST(ProfileChunks, copied_are_spread_evenly_between_computed) {
  const NewRows copied = rows_of(4, 8);
  NewRows computed = copied;
  computed.cost = RowCost::kCpu;
  const std::vector metrics{copied, computed, copied};
  std::vector<std::size_t> origins;
  for (const RowChunk& chunk : plan_chunks(metrics, 8))
    origins.push_back(chunk.metric);
  EXPECT_EQ(origins, (std::vector<std::size_t>{0, 2, 1, 0, 2, 1, 0, 2, 1, 0, 2, 1}));
}

}  // namespace
}  // namespace forebay::cube
