// SPDX-License-Identifier: Apache-2.0
// Shares and layouts of many shapes: one rank compresses each row, and the row's offset equals that
// of a layout with all sizes known in advance.
#include "cube/compressed_layout.hpp"

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
    metrics[i].index.rows = RowNumbers::dense(static_cast<std::uint32_t>(random.bits() % 40));
  }
  return metrics;
}

std::uint64_t cost_of(const std::vector<NewRows>& metrics, const std::vector<RowChunk>& share) {
  std::uint64_t sum = 0;
  for (const RowChunk& chunk : share)
    sum += chunk.count * (metrics[chunk.metric].row_bytes + kCompressedRowOverheadBytes);
  return sum;
}

TEST(CompressionShares, contain_every_row_once_in_file_order) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    command::Random random(seed, 0);
    const auto metrics = random_metrics(random);
    const CompressionPlan plan{.ranks = 1 + static_cast<std::uint32_t>(random.bits() % 7),
                               .share_bytes = random.bits() % 30000};
    const auto shares = plan_compression_shares(metrics, plan);
    ASSERT_EQ(shares.size() % plan.ranks, 0U);
    std::vector<RowChunk> expected;
    for (std::size_t i = 0; i < metrics.size(); ++i)
      for (std::uint64_t row = 0; row < metrics[i].index.rows.size(); ++row)
        expected.push_back({i, row, 1});
    std::vector<RowChunk> rows;
    for (const auto& share : shares) {
      ASSERT_LT(cost_of(metrics, share), plan.share_bytes + 3000 + kCompressedRowOverheadBytes);
      for (const RowChunk& chunk : share)
        for (std::uint64_t i = 0; i < chunk.count; ++i)
          rows.push_back({chunk.metric, chunk.first + i, 1});
    }
    ASSERT_EQ(rows, expected) << "seed " << seed;
  }
}

TEST(CompressionShares, are_equal_as_far_as_rows_allow) {
  NewRows metric{.row_bytes = 936};
  metric.index.rows = RowNumbers::dense(90);
  const std::vector metrics{metric, metric};
  const auto together = plan_compression_shares(metrics, {.ranks = 3, .share_bytes = 1U << 30U});
  ASSERT_EQ(together.size(), 3U) << "one round";
  EXPECT_EQ(together[1], (std::vector<RowChunk>{{0, 60, 30}, {1, 0, 30}}));
  EXPECT_EQ(plan_compression_shares(metrics, {.ranks = 3, .share_bytes = 20000}).size(), 9U)
      << "three rounds";
}

TEST(CompressionShares, few_rows_leave_some_shares_empty) {
  NewRows metric{.row_bytes = 10};
  metric.index.rows = RowNumbers::dense(2);
  const auto shares =
      plan_compression_shares(std::vector{metric}, {.ranks = 7, .share_bytes = 100});
  ASSERT_EQ(shares.size(), 7U);
  EXPECT_EQ(std::ranges::count_if(shares, [](const auto& share) { return share.empty(); }), 5);
}

TEST(CompressionShares, no_rows_give_one_round) {
  EXPECT_EQ(plan_compression_shares({}, {.ranks = 2, .share_bytes = 0}).size(), 2U);
}

/// Offsets of a layout that gets rows one by one; the sizes in `archive` are known in advance.
std::map<std::uint64_t, std::uint64_t> sizes_by_offset(const NewProfile& profile,
                                                       ArchiveLayout& archive,
                                                       command::Random& random) {
  CompressedLayout layout(profile);
  std::map<std::uint64_t, std::uint64_t> sizes;  // by offset
  for (const NewRows& metric : profile.metrics) {
    RowsSpec spec = rows_spec(metric);
    spec.compressed_bytes.emplace(spec.row_count);
    for (std::uint64_t& size : *spec.compressed_bytes)
      size = 8 + random.bits() % 900;
    const RowsLayout expected = append_rows(archive, spec);
    for (std::uint64_t i = 0; i < spec.row_count; ++i) {
      EXPECT_EQ(layout.append_row((*spec.compressed_bytes)[i]), expected.row(i).offset);
      sizes[expected.row(i).offset] = expected.row(i).size;
    }
  }
  for (const FileSegment& segment : layout.take_framing())
    sizes[segment.offset] = segment.bytes.size();
  return sizes;
}

TEST(CompressedLayout, matches_layout_with_sizes_known_in_advance) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    command::Random random(seed, 1);
    const NewProfile profile{.copied_members = {{"notes", std::string(random.bits() % 1500, 'n')}},
                             .metrics = random_metrics(random),
                             .anchor = std::string(1 + random.bits() % 3000, 'a')};
    ArchiveLayout archive;
    archive.append("notes", profile.copied_members.front().content.size());
    const auto sizes = sizes_by_offset(profile, archive, random);
    archive.append("anchor.xml", profile.anchor.size());
    std::uint64_t end = 0;
    for (const auto& [offset, size_bytes] : sizes) {
      ASSERT_EQ(offset, end) << "neither gaps nor overlaps, seed " << seed;
      end = offset + size_bytes;
    }
    ASSERT_EQ(end, archive.file_bytes()) << "seed " << seed;
  }
}

TEST(CompressedLayout, returns_framing_once_it_is_known) {
  NewRows metric{.row_bytes = 8};
  metric.index.rows = {0, 1};
  const NewProfile profile{.metrics = {metric, metric}, .anchor = "a"};
  CompressedLayout layout(profile);
  EXPECT_TRUE(layout.take_framing().empty());
  layout.append_row(16);
  EXPECT_TRUE(layout.take_framing().empty()) << "the table lacks a size";
  layout.append_row(16);
  EXPECT_FALSE(layout.take_framing().empty());
  EXPECT_TRUE(layout.take_framing().empty()) << "taken";
}

}  // namespace
}  // namespace forebay::cube
