// SPDX-License-Identifier: Apache-2.0
// Profiles written by parts and read whole: every value type, order, index and storing gives its
// values back; every truncation and many changes give an Error and never more.
#include "cube/profile.hpp"

#include <gtest/gtest.h>

#include "cube/container_writer.hpp"
#include "cube/generate.hpp"
#include "cube/inflater.hpp"
#include "cube/profile_file.hpp"
#include "cube/tar.hpp"
#include "cube/testing.hpp"

namespace forebay::cube {
namespace {

using testing::contents_of;
using testing::MemorySource;
using testing::TempFolder;

constexpr SyntheticShape kShape{.locations = 70, .metrics = 3, .call_paths = 20};

std::vector<std::byte> file_with(GenerateOptions options) {
  const TempFolder folder;
  options.path = folder.file("a.cubex");
  if (options.rows == 0) options.rows = usual_rows(options.shape);
  const Status made = generate(options);
  EXPECT_TRUE(made) << made.error().message();
  EXPECT_EQ(folder.file_count(), 1U);
  return contents_of(options.path);
}

Result<Profile> open(std::vector<std::byte> bytes) {
  return Profile::open(std::make_shared<MemorySource>(std::move(bytes)));
}

/// That every row of every metric is what the generator says, or zero.
void expect_synthetic(const Profile& profile, std::uint64_t seed) {
  const Anchor& anchor = profile.anchor();
  RowScratch scratch;
  for (std::size_t i = 0; i < anchor.metrics.size(); ++i) {
    const SyntheticValues values(anchor, i, seed);
    const auto places = anchor.call_tree.places_by_row(anchor.metrics[i].kind);
    std::vector<std::byte> row(anchor.row_bytes(anchor.metrics[i]));
    std::vector<std::byte> expected(row.size());
    for (std::uint32_t number = 0; number < places.size(); ++number) {
      const Status read = profile.read_row(i, number, row, scratch);
      ASSERT_TRUE(read) << read.error().message();
      std::ranges::fill(expected, std::byte{0});
      const bool is_there = profile.rows(i)->place_of(number).has_value();
      if (is_there) values.fill(places[number], ByteOrder::kLittle, expected);
      ASSERT_TRUE(row == expected) << anchor.metrics[i].unique_name << " row " << number;
    }
  }
}

TEST(Profile, every_type_order_index_and_storing_gives_its_values_back) {
  for (const std::string name : {"INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64",
                                 "UINT64", "DOUBLE", "MINDOUBLE", "MAXDOUBLE", "COMPLEX", "RATE",
                                 "TAU_ATOMIC", "NDOUBLES(3)", "HISTOGRAM(2)", "SCALE_FUNC"}) {
    for (unsigned variant = 0; variant < 8; ++variant) {
      GenerateOptions options{.shape = kShape, .seed = variant};
      options.shape.type = *parse_value_type(name);
      if ((variant & 1U) != 0) options.order = ByteOrder::kBig;
      if ((variant & 2U) != 0) options.packing_level = kPackingLevelMin;
      if ((variant & 4U) != 0) options.index = IndexFormat::kDense;
      if ((variant & 4U) == 0) options.rows = 35;  // rows are missing in two metrics
      const auto profile = open(file_with(options));
      ASSERT_TRUE(profile) << name << " " << variant << " " << profile.error().message();
      EXPECT_EQ(profile->rows(0)->is_packed, (variant & 2U) != 0);
      EXPECT_EQ(profile->rows(2)->index.rows.size(), (variant & 4U) == 0 ? 1U : 20U);
      expect_synthetic(*profile, variant);
    }
  }
}

TEST(Profile, metrics_of_their_own_types_and_both_numberings_give_their_values_back) {
  const auto profile =
      open(file_with({.shape = {.locations = 3, .metrics = 25, .call_paths = 70}}));
  ASSERT_TRUE(profile) << profile.error().message();
  EXPECT_EQ(profile->anchor().metrics.back().unique_name, "min_time_2");
  expect_synthetic(*profile, 1);
}

TEST(Profile, the_smallest_profile_is_read) {
  const auto bytes = file_with({.shape = {.locations = 1, .metrics = 1, .call_paths = 1}});
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
  ContainerShape shape{.metrics = {}, .anchor_bytes = text.size()};
  for (const Metric& metric : anchor.metrics) {
    shape.metrics.push_back(
        {.metric_id = metric.id, .row_bytes = anchor.row_bytes(metric), .row_count = 2100});
  }
  const ContainerLayout layout = plan_container(shape);
  ASSERT_GT(layout.metrics[0].data.bytes.size, 8ULL << 30U);

  const TempFolder folder;
  auto file = command::PublishedFile::create(folder.file("a.cubex"));
  ASSERT_TRUE(file);
  if (!file->resize(layout.file_bytes)) GTEST_SKIP() << "no sparse file of 17 GiB here";
  testing::FileSink sink(*file);
  std::vector<std::byte> row(anchor.row_bytes(anchor.metrics[1]), std::byte{0x3f});
  const Index index{.rows = synthetic_rows(anchor.call_tree, MetricKind::kExclusive, 0, 1)};
  for (const RowsPlace& place : layout.metrics)
    ASSERT_TRUE(write_around_rows(sink, place, index));
  ASSERT_TRUE(write_member(sink, layout.anchor, std::as_bytes(std::span(text))));
  ASSERT_TRUE(write_piece(sink, ArchiveLayout(layout.anchor.end_offset).end()));
  ASSERT_TRUE(sink.write(layout.metrics[1].row(2099).offset, row));
  ASSERT_TRUE(file->publish());

  const auto profile = open_profile(folder.file("a.cubex"));
  ASSERT_TRUE(profile) << profile.error().message();
  std::vector<std::byte> found(row.size());
  RowScratch scratch;
  ASSERT_TRUE(profile->read_row(1, 2099, found, scratch));
  EXPECT_TRUE(found == row);
  ASSERT_TRUE(profile->read_row(0, 2099, found, scratch));
  EXPECT_TRUE(is_zero(found));
}

TEST(Profile, inclusive_values_are_sums_of_what_is_below) {
  const Anchor anchor = synthetic_anchor({.locations = 5, .metrics = 11, .call_paths = 56});
  constexpr std::size_t kCycles = 6;  // a whole number, so that sums are exact
  ASSERT_EQ(anchor.metrics[kCycles].kind, MetricKind::kInclusive);
  const SyntheticValues values(anchor, kCycles, 1);
  std::vector<std::vector<std::byte>> rows(56, std::vector<std::byte>(40));
  for (std::uint32_t place = 0; place < 56; ++place)
    values.fill(place, ByteOrder::kLittle, rows[place]);
  std::vector<std::uint64_t> below(56);
  for (std::uint32_t place = 56; place-- > 1;)
    below[anchor.call_tree.at(place).parent] += load<std::uint64_t>(rows[place]);
  for (std::uint32_t place = 0; place < 56; ++place)
    EXPECT_GT(load<std::uint64_t>(rows[place]), below[place]) << place;
}

TEST(Profile, every_truncation_is_an_error_or_what_was_there) {
  for (const bool packed : {false, true}) {
    GenerateOptions options{.shape = {.locations = 2, .metrics = 2, .call_paths = 4}};
    if (packed) options.packing_level = kPackingLevelMin;
    const auto whole = file_with(options);
    for (std::size_t size = 0; size < whole.size(); size += size < 4096 ? 1 : 37) {
      const auto profile = open({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
      if (profile) continue;
      EXPECT_FALSE(profile.error().cause().empty());
      EXPECT_TRUE(profile.error().offset_bytes()) << profile.error().message();
    }
    EXPECT_FALSE(open({whole.begin(), whole.begin() + 3000}));
  }
}

/// Reads every row; each must be a row or damage.
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

TEST(Profile, every_changed_byte_is_an_error_or_a_value) {
  for (const bool packed : {false, true}) {
    GenerateOptions options{.shape = {.locations = 2, .metrics = 2, .call_paths = 4}};
    if (packed) options.packing_level = kPackingLevelMin;
    auto bytes = file_with(options);
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
