// SPDX-License-Identifier: Apache-2.0
#include "tipsy/layout.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace forebay::tipsy {
namespace {

TEST(Layout, record_sizes_match_the_format_page) {
  const auto sizes = [](Precision precision) {
    return std::array{record_bytes(Family::kGas, precision), record_bytes(Family::kDark, precision),
                      record_bytes(Family::kStar, precision)};
  };
  EXPECT_EQ(sizes(Precision::kSingle), (std::array<std::uint64_t, 3>{48, 36, 44}));
  EXPECT_EQ(sizes(Precision::kDoublePositions), (std::array<std::uint64_t, 3>{60, 48, 56}));
  EXPECT_EQ(sizes(Precision::kDoubleVelocities), (std::array<std::uint64_t, 3>{60, 48, 56}));
  EXPECT_EQ(sizes(Precision::kDouble), (std::array<std::uint64_t, 3>{72, 60, 68}));
  EXPECT_EQ(record_bytes(Family::kGas, Precision::kDouble), kRecordBytesMax);
}

TEST(Layout, offsets_do_not_overflow_at_the_count_limit) {
  const Layout layout{{kCountLimit, 0, 0}, Precision::kDouble, ByteOrder::kStandard, kHeaderBytes};
  EXPECT_EQ(layout.offset_of(Family::kDark), 32 + kCountLimit * 72);
  const RecordRun last = layout.next_record_run({kCountLimit - 1, kCountLimit}, 1);
  EXPECT_EQ(last.bytes.offset, 32 + (kCountLimit - 1) * 72);
}

/// All runs of a range, in order.
std::vector<RecordRun> runs_of(const Layout& layout,
                               ParticleRange range,
                               std::uint64_t limit_bytes) {
  std::vector<RecordRun> runs;
  while (!range.empty()) {
    runs.push_back(layout.next_record_run(range, limit_bytes));
    range.first += runs.back().count;
  }
  return runs;
}

TEST(Layout, runs_of_all_shares_cover_each_byte_once_in_order) {
  for (const Counts counts : {Counts{5, 7, 3}, Counts{0, 9, 0}, Counts{4, 0, 4}, Counts{0, 0, 1}}) {
    for (const std::uint64_t shares : {1U, 2U, 7U, 40U}) {
      const Layout layout{counts, Precision::kDoublePositions, ByteOrder::kNative, 28};
      std::uint64_t offset = 28;
      std::uint64_t particle = 0;
      for (std::uint64_t i = 0; i < shares; ++i) {
        for (const RecordRun& run : runs_of(layout, share_of(counts.total(), i, shares), 130)) {
          EXPECT_EQ(run.bytes.offset, offset);
          EXPECT_EQ(run.bytes.size, run.count * record_bytes(run.family, layout.precision));
          EXPECT_LE(run.bytes.size, 130U);
          EXPECT_EQ(run.first, particle);
          EXPECT_GE(run.bytes.offset, layout.offset_of(run.family));
          offset += run.bytes.size;
          particle += run.count;
        }
      }
      EXPECT_EQ(offset, layout.end_offset());
      EXPECT_EQ(particle, counts.total());
    }
  }
}

TEST(Layout, run_has_one_particle_with_any_limit) {
  const Layout layout{{3, 0, 0}, Precision::kSingle, ByteOrder::kStandard, kHeaderBytes};
  EXPECT_EQ(layout.next_record_run({1, 3}, 0).count, 1U);
}

TEST(Layout, shares_differ_by_at_most_one_and_the_first_get_the_excess) {
  EXPECT_EQ(share_of(10, 0, 4).count(), 3U);
  EXPECT_EQ(share_of(10, 1, 4).count(), 3U);
  EXPECT_EQ(share_of(10, 2, 4).count(), 2U);
  EXPECT_EQ(share_of(10, 3, 4).end, 10U);
  EXPECT_TRUE(share_of(2, 2, 4).empty());
}

TEST(Layout, names_match_the_format_page) {
  EXPECT_EQ(name_of(Precision::kSingle), "single");
  EXPECT_EQ(name_of(Precision::kDoublePositions), "double-positions");
  EXPECT_EQ(name_of(Precision::kDoubleVelocities), "double-velocities");
  EXPECT_EQ(name_of(Precision::kDouble), "double");
  EXPECT_EQ(name_of(Family::kStar), "star");
  EXPECT_EQ(name_of(ByteOrder::kStandard), "standard");
}

}  // namespace
}  // namespace forebay::tipsy
