// SPDX-License-Identifier: Apache-2.0
// Shares and places of many shapes: every row is compressed by one rank, and goes where a layout
// that knows all sizes from the beginning has it.
#include "cube/packing_plan.hpp"

#include <algorithm>
#include <map>

#include <gtest/gtest.h>

#include "command/random.hpp"

namespace forebay::cube {
namespace {

std::vector<NewRows> random_metrics(command::Random& random) {
  std::vector<NewRows> metrics(random.bits() % 6);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    metrics[i].metric_id = static_cast<std::uint32_t>(i);
    metrics[i].row_bytes = random.bits() % 3000;
    metrics[i].index.rows = RowNumbers::all(static_cast<std::uint32_t>(random.bits() % 40));
  }
  return metrics;
}

std::uint64_t cost_of(const std::vector<NewRows>& metrics, const std::vector<RowChunk>& share) {
  std::uint64_t sum = 0;
  for (const RowChunk& chunk : share)
    sum += chunk.count * (metrics[chunk.metric].row_bytes + kPackedRowCostBytes);
  return sum;
}

TEST(PackingShares, have_every_row_once_in_the_order_of_the_file) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    command::Random random(seed, 0);
    const auto metrics = random_metrics(random);
    const PackingShape shape{.ranks = 1 + static_cast<std::uint32_t>(random.bits() % 7),
                             .share_bytes = random.bits() % 30000};
    const auto shares = plan_shares(metrics, shape);
    ASSERT_EQ(shares.size() % shape.ranks, 0U);
    std::vector<RowChunk> expected;
    for (std::size_t i = 0; i < metrics.size(); ++i)
      for (std::uint64_t row = 0; row < metrics[i].index.rows.size(); ++row)
        expected.push_back({i, row, 1});
    std::vector<RowChunk> rows;
    for (const auto& share : shares) {
      ASSERT_LT(cost_of(metrics, share), shape.share_bytes + 3000 + kPackedRowCostBytes);
      for (const RowChunk& chunk : share)
        for (std::uint64_t i = 0; i < chunk.count; ++i)
          rows.push_back({chunk.metric, chunk.first + i, 1});
    }
    ASSERT_EQ(rows, expected) << "seed " << seed;
  }
}

TEST(PackingShares, are_equal_as_far_as_rows_allow) {
  NewRows metric{.row_bytes = 936};
  metric.index.rows = RowNumbers::all(90);
  const std::vector metrics{metric, metric};
  const auto together = plan_shares(metrics, {.ranks = 3, .share_bytes = 1U << 30U});
  ASSERT_EQ(together.size(), 3U) << "one round";
  EXPECT_EQ(together[1], (std::vector<RowChunk>{{0, 60, 30}, {1, 0, 30}}));
  EXPECT_EQ(plan_shares(metrics, {.ranks = 3, .share_bytes = 20000}).size(), 9U) << "three rounds";
}

TEST(PackingShares, of_few_rows_are_empty_for_some) {
  NewRows metric{.row_bytes = 10};
  metric.index.rows = RowNumbers::all(2);
  const auto shares = plan_shares(std::vector{metric}, {.ranks = 7, .share_bytes = 100});
  ASSERT_EQ(shares.size(), 7U);
  EXPECT_EQ(std::ranges::count_if(shares, [](const auto& share) { return share.empty(); }), 5);
}

TEST(PackingShares, without_rows_are_one_round) {
  EXPECT_EQ(plan_shares({}, {.ranks = 2, .share_bytes = 0}).size(), 2U);
}

/// Where things are by a layout that is told of rows one by one; `archive` knows all sizes before.
std::map<std::uint64_t, std::uint64_t> places_of(const NewProfile& profile,
                                                 ArchiveLayout& archive,
                                                 command::Random& random) {
  PackedLayout layout(profile);
  std::map<std::uint64_t, std::uint64_t> sizes;  // by offset
  for (const NewRows& metric : profile.metrics) {
    RowsShape shape = rows_shape(metric);
    shape.packed_bytes.emplace(shape.row_count);
    for (std::uint64_t& size : *shape.packed_bytes)
      size = 8 + random.bits() % 900;
    const RowsPlace expected = append_rows(archive, shape);
    for (std::uint64_t i = 0; i < shape.row_count; ++i) {
      EXPECT_EQ(layout.place((*shape.packed_bytes)[i]), expected.row(i).offset);
      sizes[expected.row(i).offset] = expected.row(i).size;
    }
  }
  for (const Piece& piece : layout.take_frame())
    sizes[piece.offset] = piece.bytes.size();
  return sizes;
}

TEST(PackedLayout, is_that_of_sizes_known_from_the_beginning) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    command::Random random(seed, 1);
    const NewProfile profile{.carried = {{"notes", std::string(random.bits() % 1500, 'n')}},
                             .metrics = random_metrics(random),
                             .anchor = std::string(1 + random.bits() % 3000, 'a')};
    ArchiveLayout archive;
    archive.append("notes", profile.carried.front().content.size());
    const auto places = places_of(profile, archive, random);
    archive.append("anchor.xml", profile.anchor.size());
    std::uint64_t end = 0;
    for (const auto& [offset, size_bytes] : places) {
      ASSERT_EQ(offset, end) << "neither gaps nor overlaps, seed " << seed;
      end = offset + size_bytes;
    }
    ASSERT_EQ(end, archive.file_bytes()) << "seed " << seed;
  }
}

TEST(PackedLayout, gives_what_surrounds_rows_as_soon_as_it_is_known) {
  NewRows metric{.row_bytes = 8};
  metric.index.rows = {0, 1};
  const NewProfile profile{.metrics = {metric, metric}, .anchor = "a"};
  PackedLayout layout(profile);
  EXPECT_TRUE(layout.take_frame().empty());
  layout.place(16);
  EXPECT_TRUE(layout.take_frame().empty()) << "the table has a size to come";
  layout.place(16);
  EXPECT_FALSE(layout.take_frame().empty());
  EXPECT_TRUE(layout.take_frame().empty()) << "taken";
}

}  // namespace
}  // namespace forebay::cube
