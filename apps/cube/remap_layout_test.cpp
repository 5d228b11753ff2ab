// SPDX-License-Identifier: Apache-2.0
// Places and chunks of many shapes: every byte of the file has exactly one owner.
#include "cube/remap_layout.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "command/random.hpp"

namespace forebay::cube {
namespace {

std::vector<RemapMetric> metrics_of(command::Random& random) {
  std::vector<RemapMetric> metrics(1 + random.bits() % 7);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    RemapMetric& metric = metrics[i];
    metric.description.id = static_cast<std::uint32_t>(i);
    metric.description.unique_name = "m" + std::to_string(i);
    metric.description.type.kind = static_cast<ValueKind>(random.bits() % 14);
    metric.origin = static_cast<RowOrigin>(random.bits() % 4);
    if (metric.origin == RowOrigin::kNoRows) continue;
    for (std::uint32_t row = 0; row < 60; ++row)
      if (random.bits() % 3 > 0) metric.index.rows.push_back(row);
  }
  return metrics;
}

/// Whether these cover [0, size_bytes) without gaps and overlaps.
bool covers(std::vector<ByteRange> ranges, std::uint64_t size_bytes) {
  std::ranges::sort(ranges, {}, &ByteRange::offset);
  std::uint64_t end = 0;
  for (const ByteRange& range : ranges) {
    if (range.offset != end) return false;
    end = range.end();
  }
  return end == size_bytes;
}

TEST(RemapLayout, every_byte_has_one_owner) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    command::Random random(seed, 0);
    const auto metrics = metrics_of(random);
    const std::uint64_t locations = 1 + random.bits() % 200;
    const RemapLayout layout =
        plan_layout(metrics, locations,
                    {.carried = {{"notes", std::string(random.bits() % 1500, 'n')}},
                     .anchor = std::string(1 + random.bits() % 3000, 'a')});
    std::vector<ByteRange> ranges;
    for (const Piece& piece : layout.frame)
      ranges.push_back({piece.offset, piece.bytes.size()});
    const auto chunks = plan_chunks(metrics, locations, random.bits() % 20000);
    for (const RowChunk& chunk : chunks) {
      const RowsPlace& place = *layout.rows[chunk.metric];
      ranges.push_back({place.row(chunk.first).offset, place.row_bytes * chunk.count});
    }
    ASSERT_TRUE(covers(ranges, layout.file_bytes)) << "seed " << seed;
  }
}

TEST(RemapLayout, frame_pieces_have_gaps_between_them) {
  command::Random random(1, 0);
  const auto metrics = metrics_of(random);
  const RemapLayout layout = plan_layout(metrics, 10, {.carried = {}, .anchor = "anchor"});
  for (std::size_t i = 1; i < layout.frame.size(); ++i) {
    const Piece& before = layout.frame[i - 1];
    EXPECT_LT(before.offset + before.bytes.size(), layout.frame[i].offset);
  }
}

TEST(RemapChunks, are_as_large_as_they_may_be_and_at_least_a_row) {
  RemapMetric metric{.origin = RowOrigin::kComputed, .index = {}};
  metric.index.rows.resize(10);
  std::iota(metric.index.rows.begin(), metric.index.rows.end(), 0U);
  const std::vector metrics{metric};
  using Chunks = std::vector<RowChunk>;
  EXPECT_EQ(plan_chunks(metrics, 100, 3999), (Chunks{{0, 0, 4}, {0, 4, 4}, {0, 8, 2}}));
  EXPECT_EQ(plan_chunks(metrics, 100, 1).size(), 10U);
  EXPECT_EQ(plan_chunks(metrics, 100, 1U << 20U), (Chunks{{0, 0, 10}}));
}

TEST(RemapChunks, of_the_same_call_paths_come_together) {
  RemapMetric metric{.origin = RowOrigin::kComputed, .index = {}};
  metric.index.rows = {0, 1, 2, 3};
  const std::vector metrics{metric, metric, metric};
  const auto chunks = plan_chunks(metrics, 1, 16);
  ASSERT_EQ(chunks.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_EQ(chunks[i], (RowChunk{i % 3, i < 3 ? 0U : 2U, 2}));
}

TEST(RemapChunks, that_are_copied_lie_evenly_between_those_that_are_computed) {
  RemapMetric computed{.origin = RowOrigin::kComputed, .index = {}};
  computed.index.rows = {0, 1, 2, 3};
  RemapMetric copied{.origin = RowOrigin::kCopied, .index = {}};
  copied.index.rows = {0, 1, 2, 3};
  const std::vector metrics{copied, computed, copied};
  std::vector<std::size_t> origins;
  for (const RowChunk& chunk : plan_chunks(metrics, 1, 8))
    origins.push_back(chunk.metric);
  EXPECT_EQ(origins, (std::vector<std::size_t>{0, 2, 1, 0, 2, 1, 0, 2, 1, 0, 2, 1}));
}

}  // namespace
}  // namespace forebay::cube
