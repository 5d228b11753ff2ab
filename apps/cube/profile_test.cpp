// SPDX-License-Identifier: Apache-2.0
// Profiles that are generated and read back: every value type, byte order, index and storage
// returns its values. Every truncation and many changed bytes give an Error or values, no crash.
#include "cube/profile.hpp"

#include <gtest/gtest.h>

#include "cube/compression.hpp"
#include "cube/container_writer.hpp"
#include "cube/generate.hpp"
#include "cube/profile_file.hpp"
#include "cube/tar.hpp"
#include "cube/testing.hpp"

namespace forebay::cube {
namespace {

using testing::MemoryFile;
using testing::read_file;
using testing::TempDirectory;

constexpr SyntheticOptions kShape{.locations = 70, .metrics = 3, .call_paths = 20};

std::vector<std::byte> generate_file(GenerateOptions options) {
  const TempDirectory directory;
  options.path = directory.file("a.cubex");
  if (options.rows == 0) options.rows = default_row_count(options.shape);
  const Status made = generate(options);
  EXPECT_TRUE(made) << made.error().message();
  EXPECT_EQ(directory.file_count(), 1U);
  return read_file(options.path);
}

Result<Profile> open(std::vector<std::byte> bytes) {
  return Profile::open(std::make_shared<MemoryFile>(std::move(bytes)));
}

/// Expects every row of every metric to have the generator's values, or zeros.
void expect_synthetic(const Profile& profile, std::uint64_t seed) {
  const Anchor& anchor = profile.anchor();
  RowScratch scratch;
  for (std::size_t i = 0; i < anchor.metrics.size(); ++i) {
    const SyntheticValues values(anchor, i, seed);
    const auto indices = anchor.call_tree.call_paths_by_row(anchor.metrics[i].kind);
    std::vector<std::byte> row(anchor.row_bytes(anchor.metrics[i]));
    std::vector<std::byte> expected(row.size());
    for (std::uint32_t number = 0; number < indices.size(); ++number) {
      const Status read = profile.read_row(i, number, row, scratch);
      ASSERT_TRUE(read) << read.error().message();
      std::ranges::fill(expected, std::byte{0});
      const bool is_there = profile.rows(i)->index_of(number).has_value();
      if (is_there) values.fill(indices[number], ByteOrder::kLittle, expected);
      ASSERT_TRUE(row == expected) << anchor.metrics[i].unique_name << " row " << number;
    }
  }
}

TEST(Profile, every_type_order_index_and_storage_round_trips) {
  for (const std::string name : {"INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64",
                                 "UINT64", "DOUBLE", "MINDOUBLE", "MAXDOUBLE", "COMPLEX", "RATE",
                                 "TAU_ATOMIC", "NDOUBLES(3)", "HISTOGRAM(2)", "SCALE_FUNC"}) {
    for (unsigned variant = 0; variant < 8; ++variant) {
      GenerateOptions options{.shape = kShape, .seed = variant};
      options.shape.type = *parse_value_type(name);
      if ((variant & 1U) != 0) options.order = ByteOrder::kBig;
      if ((variant & 2U) != 0) options.compression_level = kCompressionLevelMin;
      if ((variant & 4U) != 0) options.index = IndexFormat::kDense;
      if ((variant & 4U) == 0) options.rows = 35;  // rows are missing in two metrics
      const auto profile = open(generate_file(options));
      ASSERT_TRUE(profile) << name << " " << variant << " " << profile.error().message();
      EXPECT_EQ(profile->rows(0)->is_compressed, (variant & 2U) != 0);
      EXPECT_EQ(profile->rows(2)->index.rows.size(), (variant & 4U) == 0 ? 1U : 20U);
      expect_synthetic(*profile, variant);
    }
  }
}

TEST(Profile, default_types_and_both_numberings_round_trip) {
  const auto profile =
      open(generate_file({.shape = {.locations = 3, .metrics = 25, .call_paths = 70}}));
  ASSERT_TRUE(profile) << profile.error().message();
  EXPECT_EQ(profile->anchor().metrics.back().unique_name, "min_time_2");
  expect_synthetic(*profile, 1);
}

TEST(Profile, smallest_profile_is_read) {
  const auto bytes = generate_file({.shape = {.locations = 1, .metrics = 1, .call_paths = 1}});
  const auto profile = open(bytes);
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->rows(0)->row(0), (ByteRange{522, 8}));
  EXPECT_EQ(profile->file_bytes() % 512, 0U);
}

TEST(Profile, rows_beyond_8_GiB_of_a_member_are_written_and_read) {
  const ValueType type{ValueKind::kDoubles, ValueType::kCountLimit};  // half a MiB each
  const Anchor anchor =
      synthetic_anchor({.locations = 8, .metrics = 2, .call_paths = 2100, .type = type});
  const std::string text = write_anchor(anchor);
  ContainerSpec spec{.metrics = {}, .anchor_bytes = text.size()};
  for (const Metric& metric : anchor.metrics) {
    spec.metrics.push_back(
        {.metric_id = metric.id, .row_bytes = anchor.row_bytes(metric), .row_count = 2100});
  }
  const ContainerLayout layout = plan_container(spec);
  ASSERT_GT(layout.metrics[0].data.bytes.size, 8ULL << 30U);

  const TempDirectory directory;
  auto file = command::AtomicFile::create(directory.file("a.cubex"));
  ASSERT_TRUE(file);
  if (!file->resize(layout.file_bytes))
    GTEST_SKIP() << "the file system has no sparse file of 17 GiB";
  testing::FileSink sink(*file);
  std::vector<std::byte> row(anchor.row_bytes(anchor.metrics[1]), std::byte{0x3f});
  const Index index{.rows = synthetic_rows(anchor.call_tree, MetricKind::kExclusive, 0, 1)};
  for (const RowsLayout& rows : layout.metrics)
    ASSERT_TRUE(write_rows_framing(sink, rows, index));
  ASSERT_TRUE(write_member(sink, layout.anchor, std::as_bytes(std::span(text))));
  ASSERT_TRUE(write_segment(sink, ArchiveLayout(layout.anchor.end_offset).end()));
  ASSERT_TRUE(sink.write(layout.metrics[1].row(2099).offset, row));
  ASSERT_TRUE(file->publish());

  const auto profile = open_profile(directory.file("a.cubex"));
  ASSERT_TRUE(profile) << profile.error().message();
  std::vector<std::byte> found(row.size());
  RowScratch scratch;
  ASSERT_TRUE(profile->read_row(1, 2099, found, scratch));
  EXPECT_TRUE(found == row);
  ASSERT_TRUE(profile->read_row(0, 2099, found, scratch));
  EXPECT_TRUE(is_zero(found));
}

TEST(Profile, inclusive_values_are_sums_over_subtree) {
  const Anchor anchor = synthetic_anchor({.locations = 5, .metrics = 11, .call_paths = 56});
  constexpr std::size_t kCycles = 6;  // a whole number, so that sums are exact
  ASSERT_EQ(anchor.metrics[kCycles].kind, MetricKind::kInclusive);
  const SyntheticValues values(anchor, kCycles, 1);
  std::vector<std::vector<std::byte>> rows(56, std::vector<std::byte>(40));
  for (std::uint32_t index = 0; index < 56; ++index)
    values.fill(index, ByteOrder::kLittle, rows[index]);
  std::vector<std::uint64_t> below(56);
  for (std::uint32_t index = 56; index-- > 1;)
    below[anchor.call_tree.at(index).parent] += load<std::uint64_t>(rows[index]);
  for (std::uint32_t index = 0; index < 56; ++index)
    EXPECT_GT(load<std::uint64_t>(rows[index]), below[index]) << index;
}

TEST(Profile, every_truncation_is_an_error_or_equal_values) {
  for (const bool compressed : {false, true}) {
    GenerateOptions options{.shape = {.locations = 2, .metrics = 2, .call_paths = 4}};
    if (compressed) options.compression_level = kCompressionLevelMin;
    const auto whole = generate_file(options);
    for (std::size_t size = 0; size < whole.size(); size += size < 4096 ? 1 : 37) {
      const auto profile = open({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
      if (profile) continue;
      EXPECT_FALSE(profile.error().cause().empty());
      EXPECT_TRUE(profile.error().offset_bytes()) << profile.error().message();
    }
    EXPECT_FALSE(open({whole.begin(), whole.begin() + 3000}));
  }
}

/// Reads every row; each must succeed or be damaged.
void expect_rows_or_damage(const Profile& profile) {
  RowScratch scratch;
  const Anchor& anchor = profile.anchor();
  for (std::size_t i = 0; i < anchor.metrics.size(); ++i) {
    std::vector<std::byte> row(anchor.row_bytes(anchor.metrics[i]));
    for (std::uint32_t number = 0; number < anchor.call_tree.size(); ++number) {
      const Status read = profile.read_row(i, number, row, scratch);
      EXPECT_TRUE(read || read.error().kind() == ErrorClass::kDamage);
    }
  }
}

TEST(Profile, every_changed_byte_is_an_error_or_gives_values) {
  for (const bool compressed : {false, true}) {
    GenerateOptions options{.shape = {.locations = 2, .metrics = 2, .call_paths = 4}};
    if (compressed) options.compression_level = kCompressionLevelMin;
    auto bytes = generate_file(options);
    for (std::byte& byte : bytes) {
      byte ^= std::byte{0xff};
      const auto profile = open(bytes);
      byte ^= std::byte{0xff};
      if (profile) expect_rows_or_damage(*profile);
    }
  }
}

}  // namespace
}  // namespace forebay::cube
