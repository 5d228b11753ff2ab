// SPDX-License-Identifier: Apache-2.0
#include "tipsy/record_cutter.hpp"

#include <random>

#include <gtest/gtest.h>

#include "tipsy/testing.hpp"

namespace forebay::tipsy {
namespace {

/// Feeds `bytes` in pieces of random length and checks each run against the file's layout.
std::vector<std::byte> cut_and_join(const Layout& layout,
                                    std::span<const std::byte> bytes,
                                    ParticleRange range,
                                    std::size_t piece_bytes_max) {
  std::mt19937_64 random(piece_bytes_max);
  std::uniform_int_distribution<std::size_t> length(1, piece_bytes_max);
  RecordCutter cutter(layout, range);
  std::vector<std::byte> joined;
  const ByteRange extent = layout.bytes_of(range);
  auto rest = bytes.subspan(extent.offset, extent.size);
  while (!rest.empty()) {
    const auto piece = rest.first(std::min(rest.size(), length(random)));
    rest = rest.subspan(piece.size());
    cutter.feed(piece, [&](const RecordRun& run, std::span<const std::byte> records) {
      EXPECT_EQ(run.bytes.offset, extent.offset + joined.size());
      EXPECT_EQ(records.size(), run.count * record_bytes(run.family, layout.precision));
      joined.insert(joined.end(), records.begin(), records.end());
    });
  }
  EXPECT_TRUE(cutter.rest().empty());
  return joined;
}

TEST(RecordCutter, any_pieces_give_all_records_once_in_order) {
  const Layout layout{{20, 31, 9}, Precision::kDoublePositions, ByteOrder::kStandard, 32};
  const auto bytes = testing::encode_snapshot(layout, testing::random_particles(60, 3));
  for (const std::size_t piece_bytes_max : {1U, 7U, 60U, 61U, 500U, 100000U}) {
    for (const ParticleRange range : {ParticleRange{0, 60}, {5, 20}, {19, 52}, {59, 60}}) {
      const ByteRange extent = layout.bytes_of(range);
      const auto expected = std::span(bytes).subspan(extent.offset, extent.size);
      const auto joined = cut_and_join(layout, bytes, range, piece_bytes_max);
      EXPECT_TRUE(std::ranges::equal(joined, expected)) << piece_bytes_max;
    }
  }
}

TEST(RecordCutter, whole_records_are_not_copied) {
  const Layout layout{{4, 0, 0}, Precision::kSingle, ByteOrder::kNative, 32};
  const auto bytes = testing::encode_snapshot(layout, testing::random_particles(4, 3));
  RecordCutter cutter(layout, {0, 4});
  const auto piece = std::span(bytes).subspan(32);
  std::size_t calls = 0;
  cutter.feed(piece, [&](const RecordRun& run, std::span<const std::byte> records) {
    EXPECT_EQ(run.count, 4U);
    EXPECT_EQ(records.data(), piece.data());
    ++calls;
  });
  EXPECT_EQ(calls, 1U);
}

TEST(RecordCutter, bytes_past_the_range_are_left_alone) {
  const Layout layout{{2, 0, 0}, Precision::kSingle, ByteOrder::kNative, 32};
  const std::vector<std::byte> bytes(200);
  RecordCutter cutter(layout, {0, 2});
  std::uint64_t count = 0;
  cutter.feed(bytes, [&](const RecordRun& run, auto) { count += run.count; });
  EXPECT_EQ(count, 2U);
}

}  // namespace
}  // namespace forebay::tipsy
