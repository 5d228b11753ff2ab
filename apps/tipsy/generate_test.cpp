// SPDX-License-Identifier: Apache-2.0
#include "tipsy/generate.hpp"

#include <gtest/gtest.h>

#include "tipsy/snapshot.hpp"
#include "tipsy/testing.hpp"
#include "tipsy/writer.hpp"

namespace forebay::tipsy {
namespace {

using testing::TempDirectory;

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
  const TempDirectory directory;
  ASSERT_TRUE(generate({.path = directory.file("one"), .layout = small_layout(), .threads = 1}));
  ASSERT_TRUE(generate({.path = directory.file("five"), .layout = small_layout(), .threads = 5}));
  ASSERT_TRUE(generate({.path = directory.file("seed"), .layout = small_layout(), .seed = 2}));
  const auto one = testing::read_file(directory.file("one"));
  EXPECT_EQ(one, testing::read_file(directory.file("five")));
  EXPECT_NE(one, testing::read_file(directory.file("seed")));
  EXPECT_EQ(directory.file_count(), 3U) << "temporary files remain";
}

TEST(Generate, bytes_are_the_same_on_every_compiler_and_machine) {
  const TempDirectory directory;
  ASSERT_TRUE(generate({.path = directory.file("x"), .layout = small_layout(), .seed = 7}));
  EXPECT_EQ(fingerprint(testing::read_file(directory.file("x"))), 1612394070573335337U);
}

TEST(Generate, every_variant_restores_equal_bytes) {
  const TempDirectory directory;
  for (const Precision precision : kPrecisions) {
    for (const ByteOrder order : {ByteOrder::kStandard, ByteOrder::kNative}) {
      for (const std::uint64_t header_bytes : {kHeaderBytes, kShortHeaderBytes}) {
        const Layout layout{{300, 200, 100}, precision, order, header_bytes};
        ASSERT_TRUE(generate({.path = directory.file("x"), .layout = layout}));
        const auto bytes = testing::read_file(directory.file("x"));
        const auto head = std::span(bytes).first(kHeaderBytes);
        const auto found = identify_snapshot({"x", bytes.size(), head}, precision);
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_EQ(found->order, order);
        EXPECT_EQ(found->header_bytes, header_bytes);
        const auto particles = testing::decode_snapshot(*found->layout(), bytes);
        auto again = testing::encode_snapshot(layout, particles);
        // encode_snapshot() writes another time.
        std::copy_n(bytes.begin(), sizeof(double), again.begin());
        EXPECT_EQ(bytes, again) << name_of(precision) << ' ' << name_of(order);
      }
    }
  }
}

TEST(Generate, empty_families_and_an_empty_snapshot_are_written) {
  const TempDirectory directory;
  for (const Counts counts : {Counts{}, Counts{0, 0, 3}, Counts{3, 0, 0}, Counts{0, 5, 0}}) {
    const Layout layout{counts, Precision::kSingle, ByteOrder::kStandard, kHeaderBytes};
    ASSERT_TRUE(generate({.path = directory.file("x"), .layout = layout, .threads = 2}));
    EXPECT_EQ(testing::read_file(directory.file("x")).size(), layout.end_offset());
  }
}

TEST(Generate, size_is_exact_to_less_than_one_record) {
  for (const Precision precision : kPrecisions) {
    Layout layout{{}, precision, ByteOrder::kStandard, kHeaderBytes};
    for (const std::uint64_t size : {1000ULL, 123456ULL, 1ULL << 30U, 1ULL << 42U}) {
      const auto counts = counts_for_size(size, layout);
      ASSERT_TRUE(counts) << counts.error().message();
      layout.counts = *counts;
      EXPECT_LE(layout.end_offset(), size);
      EXPECT_GT(layout.end_offset() + record_bytes(Family::kDark, precision), size);
      EXPECT_GT(counts->gas, 0U);
      EXPECT_EQ(counts->gas, counts->star);
    }
  }
}

TEST(Generate, sizes_for_no_or_too_many_particles_are_rejected) {
  Layout layout = small_layout();
  EXPECT_FALSE(counts_for_size(0, layout));
  EXPECT_FALSE(counts_for_size(67, layout));
  EXPECT_TRUE(counts_for_size(68, layout));
  EXPECT_FALSE(counts_for_size(1ULL << 50U, layout));
  layout.header_bytes = kShortHeaderBytes;
  EXPECT_FALSE(counts_for_size(1ULL << 40U, layout));
}

TEST(Writer, counts_above_the_header_limit_are_rejected_without_a_file) {
  const TempDirectory directory;
  Layout layout = small_layout();
  layout.header_bytes = kShortHeaderBytes;
  layout.counts = {1ULL << 32U, 0, 0};
  const auto writer = SnapshotWriter::create(directory.file("x"), layout, 0);
  ASSERT_FALSE(writer);
  EXPECT_EQ(writer.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_EQ(directory.file_count(), 0U);
}

TEST(Writer, existing_file_is_unchanged_until_commit) {
  const TempDirectory directory;
  const std::vector<std::byte> old(5, std::byte{9});
  testing::write_file(directory.file("x"), old);
  {
    const auto writer = SnapshotWriter::create(directory.file("x"), small_layout(), 0);
    ASSERT_TRUE(writer) << writer.error().message();
    EXPECT_EQ(directory.file_count(), 2U);
  }
  EXPECT_EQ(testing::read_file(directory.file("x")), old);
  EXPECT_EQ(directory.file_count(), 1U);
}

TEST(Writer, missing_directory_is_not_found) {
  const TempDirectory directory;
  const Status made = generate({.path = directory.file("no/x"), .layout = small_layout()});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind(), ErrorClass::kNotFound);
  EXPECT_EQ(made.error().path(), directory.file("no/x"));
}

TEST(Writer, full_disk_is_detected_before_writing) {
  const TempDirectory directory;
  Layout layout = small_layout();
  layout.counts.gas = kCountLimit / 2;  // 24 TiB
  const Status made = generate({.path = directory.file("x"), .layout = layout});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind(), ErrorClass::kNoSpace) << made.error().message();
  EXPECT_EQ(directory.file_count(), 0U);
}

}  // namespace
}  // namespace forebay::tipsy
