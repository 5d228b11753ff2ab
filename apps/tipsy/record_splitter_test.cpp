// SPDX-License-Identifier: Apache-2.0
#include "tipsy/record_splitter.hpp"

#include <random>

#include <gtest/gtest.h>

#include "tipsy/testing.hpp"

namespace forebay::tipsy {
namespace {

/// Feeds `bytes` in pieces of random length, and checks each run against the file's layout.
std::vector<std::byte> split_and_join(const Layout& layout,
                                      std::span<const std::byte> bytes,
                                      ParticleRange range,
                                      std::size_t piece_bytes_max) {
  std::mt19937_64 random(piece_bytes_max);
  std::uniform_int_distribution<std::size_t> length(1, piece_bytes_max);
  RecordSplitter splitter(layout, range);
  std::vector<std::byte> joined;
  const ByteRange extent = layout.bytes_of(range);
  auto rest = bytes.subspan(extent.offset, extent.size);
  while (!rest.empty()) {
    const auto chunk = rest.first(std::min(rest.size(), length(random)));
    rest = rest.subspan(chunk.size());
    splitter.feed(chunk, [&](const RecordRun& run, std::span<const std::byte> records) {
      EXPECT_EQ(run.bytes.offset, extent.offset + joined.size());
      EXPECT_EQ(records.size(), run.count * record_bytes(run.family, layout.precision));
      joined.insert(joined.end(), records.begin(), records.end());
    });
  }
  EXPECT_TRUE(splitter.remaining().empty());
  return joined;
}

TEST(RecordSplitter, any_pieces_yield_all_records_once_in_order) {
  const Layout layout{{20, 31, 9}, Precision::kDoublePositions, ByteOrder::kStandard, 32};
  const auto bytes = testing::encode_snapshot(layout, testing::random_particles(60, 3));
  for (const std::size_t piece_bytes_max : {1U, 7U, 60U, 61U, 500U, 100000U}) {
    for (const ParticleRange range : {ParticleRange{0, 60}, {5, 20}, {19, 52}, {59, 60}}) {
      const ByteRange extent = layout.bytes_of(range);
      const auto expected = std::span(bytes).subspan(extent.offset, extent.size);
      const auto joined = split_and_join(layout, bytes, range, piece_bytes_max);
      EXPECT_TRUE(std::ranges::equal(joined, expected)) << piece_bytes_max;
    }
  }
}

TEST(RecordSplitter, complete_records_are_not_copied) {
  const Layout layout{{4, 0, 0}, Precision::kSingle, ByteOrder::kNative, 32};
  const auto bytes = testing::encode_snapshot(layout, testing::random_particles(4, 3));
  RecordSplitter splitter(layout, {0, 4});
  const auto chunk = std::span(bytes).subspan(32);
  std::size_t calls = 0;
  splitter.feed(chunk, [&](const RecordRun& run, std::span<const std::byte> records) {
    EXPECT_EQ(run.count, 4U);
    EXPECT_EQ(records.data(), chunk.data());
    ++calls;
  });
  EXPECT_EQ(calls, 1U);
}

TEST(RecordSplitter, bytes_past_the_range_are_ignored) {
  const Layout layout{{2, 0, 0}, Precision::kSingle, ByteOrder::kNative, 32};
  const std::vector<std::byte> bytes(200);
  RecordSplitter splitter(layout, {0, 2});
  std::uint64_t count = 0;
  splitter.feed(bytes, [&](const RecordRun& run, auto) { count += run.count; });
  EXPECT_EQ(count, 2U);
}

}  // namespace
}  // namespace forebay::tipsy
