// SPDX-License-Identifier: Apache-2.0
#include "tipsy/generate.hpp"

#include <gtest/gtest.h>

#include "tipsy/snapshot.hpp"
#include "tipsy/testing.hpp"
#include "tipsy/writer.hpp"

namespace forebay::tipsy {
namespace {

using testing::TempFolder;

Layout small_layout() {
  return {{20000, 40000, 1}, Precision::kSingle, ByteOrder::kStandard, kHeaderBytes};
}

/// FNV-1a, 64 bits.
std::uint64_t fingerprint(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const std::byte byte : bytes) {
    hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3U;
  }
  return hash;
}

TEST(Generate, bytes_depend_on_the_seed_and_not_on_threads) {
  const TempFolder folder;
  ASSERT_TRUE(generate({.path = folder.file("one"), .layout = small_layout(), .threads = 1}));
  ASSERT_TRUE(generate({.path = folder.file("five"), .layout = small_layout(), .threads = 5}));
  ASSERT_TRUE(generate({.path = folder.file("seed"), .layout = small_layout(), .seed = 2}));
  const auto one = testing::contents_of(folder.file("one"));
  EXPECT_EQ(one, testing::contents_of(folder.file("five")));
  EXPECT_NE(one, testing::contents_of(folder.file("seed")));
  EXPECT_EQ(folder.file_count(), 3U) << "temporary files are left behind";
}

TEST(Generate, bytes_are_the_same_with_every_compiler_and_machine) {
  const TempFolder folder;
  ASSERT_TRUE(generate({.path = folder.file("x"), .layout = small_layout(), .seed = 7}));
  EXPECT_EQ(fingerprint(testing::contents_of(folder.file("x"))), 1612394070573335337U);
}

TEST(Generate, every_variant_restores_equal_bytes) {
  const TempFolder folder;
  for (const Precision precision : kPrecisions) {
    for (const ByteOrder order : {ByteOrder::kStandard, ByteOrder::kNative}) {
      for (const std::uint64_t header_bytes : {kHeaderBytes, kShortHeaderBytes}) {
        const Layout layout{{300, 200, 100}, precision, order, header_bytes};
        ASSERT_TRUE(generate({.path = folder.file("x"), .layout = layout}));
        const auto bytes = testing::contents_of(folder.file("x"));
        const auto head = std::span(bytes).first(kHeaderBytes);
        const auto found = recognise({"x", bytes.size(), head}, precision);
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_EQ(found->order, order);
        EXPECT_EQ(found->header_bytes, header_bytes);
        const auto particles = testing::decode_snapshot(*found->layout(), bytes);
        auto again = testing::encode_snapshot(layout, particles);
        // The helper writes another time.
        std::copy_n(bytes.begin(), sizeof(double), again.begin());
        EXPECT_EQ(bytes, again) << name_of(precision) << ' ' << name_of(order);
      }
    }
  }
}

TEST(Generate, empty_families_and_an_empty_snapshot_are_written) {
  const TempFolder folder;
  for (const Counts counts : {Counts{}, Counts{0, 0, 3}, Counts{3, 0, 0}, Counts{0, 5, 0}}) {
    const Layout layout{counts, Precision::kSingle, ByteOrder::kStandard, kHeaderBytes};
    ASSERT_TRUE(generate({.path = folder.file("x"), .layout = layout, .threads = 2}));
    EXPECT_EQ(testing::contents_of(folder.file("x")).size(), layout.end_bytes());
  }
}

TEST(Generate, size_is_met_to_less_than_one_record) {
  for (const Precision precision : kPrecisions) {
    Layout layout{{}, precision, ByteOrder::kStandard, kHeaderBytes};
    for (const std::uint64_t size : {1000ULL, 123456ULL, 1ULL << 30U, 1ULL << 42U}) {
      const auto counts = counts_for_size(size, layout);
      ASSERT_TRUE(counts) << counts.error().message();
      layout.counts = *counts;
      EXPECT_LE(layout.end_bytes(), size);
      EXPECT_GT(layout.end_bytes() + record_bytes(Family::kDark, precision), size);
      EXPECT_GT(counts->gas, 0U);
      EXPECT_EQ(counts->gas, counts->star);
    }
  }
}

TEST(Generate, sizes_without_a_particle_or_with_too_many_are_refused) {
  Layout layout = small_layout();
  EXPECT_FALSE(counts_for_size(0, layout));
  EXPECT_FALSE(counts_for_size(67, layout));
  EXPECT_TRUE(counts_for_size(68, layout));
  EXPECT_FALSE(counts_for_size(1ULL << 50U, layout));
  layout.header_bytes = kShortHeaderBytes;
  EXPECT_FALSE(counts_for_size(1ULL << 40U, layout));
}

TEST(Writer, counts_over_the_headers_limit_are_refused_before_anything_is_made) {
  const TempFolder folder;
  Layout layout = small_layout();
  layout.header_bytes = kShortHeaderBytes;
  layout.counts = {1ULL << 32U, 0, 0};
  const auto writer = SnapshotWriter::create(folder.file("x"), layout, 0);
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_EQ(folder.file_count(), 0U);
}

TEST(Writer, an_existing_file_stays_until_commit) {
  const TempFolder folder;
  const std::vector<std::byte> old(5, std::byte{9});
  testing::write_file(folder.file("x"), old);
  {
    const auto writer = SnapshotWriter::create(folder.file("x"), small_layout(), 0);
    ASSERT_TRUE(writer) << writer.error().message();
    EXPECT_EQ(folder.file_count(), 2U);
  }
  EXPECT_EQ(testing::contents_of(folder.file("x")), old);
  EXPECT_EQ(folder.file_count(), 1U);
}

TEST(Writer, a_missing_folder_is_not_found) {
  const TempFolder folder;
  const Status made = generate({.path = folder.file("no/x"), .layout = small_layout()});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind(), ErrorClass::kNotFound);
  EXPECT_EQ(made.error().path(), folder.file("no/x"));
}

TEST(Writer, a_full_disk_is_found_before_the_work) {
  const TempFolder folder;
  Layout layout = small_layout();
  layout.counts.gas = kCountLimit / 2;  // 24 TiB
  const Status made = generate({.path = folder.file("x"), .layout = layout});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind(), ErrorClass::kNoSpace) << made.error().message();
  EXPECT_EQ(folder.file_count(), 0U);
}

}  // namespace
}  // namespace forebay::tipsy
