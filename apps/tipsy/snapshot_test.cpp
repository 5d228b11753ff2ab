// SPDX-License-Identifier: Apache-2.0
#include "tipsy/snapshot.hpp"

#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace forebay::tipsy {
namespace {

/// A file of which only header and size exist.
struct HeaderOnlyFile {
  Header header;
  ByteOrder order = ByteOrder::kStandard;
  std::uint64_t file_bytes = 0;

  Result<Snapshot> identify(std::optional<Precision> named_precision = std::nullopt) const {
    const HeaderBytes head = encode_header(header, order);
    return identify_snapshot({"paper", file_bytes, head}, named_precision);
  }
};

HeaderOnlyFile make_file(const Counts& counts,
                         Precision precision,
                         std::uint64_t header_bytes = kHeaderBytes) {
  return {make_header(0.5, counts), ByteOrder::kStandard,
          header_bytes + records_bytes(counts, precision)};
}

std::string expect_error(const Result<Snapshot>& result, ErrorClass kind) {
  if (result) return "was not rejected";
  EXPECT_EQ(result.error().kind(), kind) << result.error().message();
  EXPECT_EQ(result.error().path(), "paper");
  return result.error().message();
}

TEST(Snapshot, each_variant_is_identified_from_header_and_size) {
  const Counts counts{10, 20, 30};
  for (const Precision precision : {Precision::kSingle, Precision::kDouble}) {
    for (const ByteOrder order : {ByteOrder::kStandard, ByteOrder::kNative}) {
      for (const std::uint64_t header_bytes : {kHeaderBytes, kShortHeaderBytes}) {
        HeaderOnlyFile file = make_file(counts, precision, header_bytes);
        file.order = order;
        const auto found = file.identify();
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_EQ(found->order, order);
        EXPECT_EQ(found->header_bytes, header_bytes);
        EXPECT_EQ(found->counts, counts);
        EXPECT_EQ(found->candidates, std::vector{precision});
        EXPECT_EQ(found->header.time, 0.5);
        EXPECT_EQ(found->layout()->end_offset(), file.file_bytes);
      }
    }
  }
}

TEST(Snapshot, one_double_coordinate_requires_a_named_precision) {
  for (const Precision precision : {Precision::kDoublePositions, Precision::kDoubleVelocities}) {
    const HeaderOnlyFile file = make_file({10, 20, 30}, precision);
    const auto ambiguous = file.identify();
    ASSERT_TRUE(ambiguous);
    EXPECT_EQ(ambiguous->candidates,
              (std::vector{Precision::kDoublePositions, Precision::kDoubleVelocities}));
    const auto layout = ambiguous->layout();
    ASSERT_FALSE(layout);
    EXPECT_EQ(layout.error().kind(), ErrorClass::kInvalidArgument);
    EXPECT_NE(layout.error().message().find("--double-velocities"), std::string::npos);

    const auto resolved = file.identify(precision);
    ASSERT_TRUE(resolved);
    EXPECT_EQ(resolved->layout()->precision, precision);
    EXPECT_EQ(resolved->trailing_bytes, 0U);
  }
}

TEST(Snapshot, precision_that_contradicts_the_size_is_rejected) {
  const HeaderOnlyFile file = make_file({10, 20, 30}, Precision::kSingle);
  const std::string text =
      expect_error(file.identify(Precision::kDouble), ErrorClass::kInvalidArgument);
  EXPECT_NE(text.find("fit single"), std::string::npos) << text;
}

TEST(Snapshot, trailing_bytes_require_a_named_precision) {
  HeaderOnlyFile file = make_file({10, 20, 30}, Precision::kDoublePositions);
  file.file_bytes += 5;
  const std::string text = expect_error(file.identify(), ErrorClass::kDamage);
  for (const Precision precision : kPrecisions) {
    EXPECT_NE(text.find(name_of(precision)), std::string::npos) << text;
  }
  const auto found = file.identify(Precision::kDoublePositions);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->trailing_bytes, 5U);
  EXPECT_EQ(found->layout()->end_offset() + 5, file.file_bytes);
}

TEST(Snapshot, truncated_body_reports_complete_particles) {
  HeaderOnlyFile file = make_file({10, 20, 30}, Precision::kSingle);
  file.file_bytes = 32 + 10 * 48 + 7 * 36 + 1;
  for (const auto named_precision :
       {std::optional<Precision>{}, std::optional{Precision::kSingle}}) {
    const std::string text = expect_error(file.identify(named_precision), ErrorClass::kShortFile);
    EXPECT_NE(text.find("17 of 60 particles are complete"), std::string::npos) << text;
    EXPECT_NE(text.find("1787 bytes are missing"), std::string::npos) << text;
  }
}

TEST(Snapshot, file_shorter_than_a_header_is_rejected) {
  const HeaderBytes head = encode_header(make_header(0, {1, 0, 0}), ByteOrder::kStandard);
  for (const std::size_t size : {0U, 1U, 27U}) {
    const auto found =
        identify_snapshot({"paper", size, std::span(head).first(size)}, std::nullopt);
    (void)expect_error(found, ErrorClass::kDamage);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().offset_bytes(), size);
  }
}

TEST(Snapshot, other_dimension_is_rejected_at_its_offset) {
  HeaderOnlyFile file = make_file({10, 20, 30}, Precision::kSingle);
  file.header.ndim = 4;
  const auto found = file.identify();
  const std::string text = expect_error(found, ErrorClass::kDamage);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().offset_bytes(), 12U);
  EXPECT_NE(text.find("it is 67108864 in native and 4 in standard"), std::string::npos) << text;
}

TEST(Snapshot, fewer_dimensions_are_not_supported) {
  for (const ByteOrder order : {ByteOrder::kStandard, ByteOrder::kNative}) {
    HeaderOnlyFile file = make_file({10, 20, 30}, Precision::kSingle);
    file.order = order;
    file.header.ndim = 2;
    const std::string text = expect_error(file.identify(), ErrorClass::kUnsupported);
    EXPECT_NE(text.find("the snapshot has 2 dimensions; only 3 are supported"), std::string::npos)
        << text;
  }
}

TEST(Snapshot, compression_format_is_reported) {
  HeaderBytes head{std::byte{0x1f}, std::byte{0x8b}, std::byte{8}};
  const std::string text = expect_error(identify_snapshot({"paper", 5000, head}, std::nullopt),
                                        ErrorClass::kUnsupported);
  EXPECT_NE(text.find("compressed with gzip; decompress it first with gunzip"), std::string::npos)
      << text;
}

TEST(Snapshot, counts_from_families_ignores_nbodies) {
  HeaderOnlyFile file = make_file({10, 10, 10}, Precision::kSingle);
  file.header.nbodies = 35;
  const std::string text = expect_error(file.identify(), ErrorClass::kDamage);
  EXPECT_NE(text.find("use --counts-from families"), std::string::npos) << text;
  const HeaderBytes head = encode_header(file.header, file.order);
  const auto found =
      identify_snapshot({"paper", file.file_bytes, head, CountSource::kFamilyCounts}, std::nullopt);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->counts, (Counts{10, 10, 10}));
}

TEST(Snapshot, pad_identifies_bonsai_ids) {
  HeaderOnlyFile file = make_file({0, 20, 8}, Precision::kSingle);
  EXPECT_FALSE(file.identify()->has_ids());
  file.header.pad = 2;
  EXPECT_TRUE(file.identify()->has_ids());
}

TEST(Snapshot, wrong_nbodies_is_rejected_with_both_numbers) {
  HeaderOnlyFile file = make_file({10, 20, 30}, Precision::kSingle);
  file.header.nbodies = 61;
  const auto found = file.identify();
  const std::string text = expect_error(found, ErrorClass::kDamage);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().offset_bytes(), 8U);
  EXPECT_NE(text.find("nbodies is 61, but the families sum to 60"), std::string::npos) << text;
}

TEST(Snapshot, arbitrary_pad_is_ignored_if_counts_are_consistent) {
  // ChaNGa's onestar.tbin: 1088 gas, 1 star, pad 1, 52300 bytes.
  HeaderOnlyFile file = make_file({1088, 0, 1}, Precision::kSingle);
  ASSERT_EQ(file.file_bytes, 52300U);
  for (const std::uint32_t pad : {1U, 0x01010101U, 0xffffffffU}) {
    file.header.pad = pad;
    const auto found = file.identify();
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_FALSE(found->is_pad_used);
    EXPECT_EQ(found->counts, (Counts{1088, 0, 1}));
  }
}

TEST(Snapshot, consistent_pad_is_ignored_if_the_size_fits_plain_counts) {
  HeaderOnlyFile file = make_file({5, 0, 0}, Precision::kSingle);
  file.header.pad = 0x0101;  // nbodies and gas would both increase by 2^32
  const auto found = file.identify();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->counts.gas, 5U);
}

TEST(Snapshot, counts_over_2_to_the_32_come_from_the_pad) {
  constexpr std::uint64_t kMany = 1ULL << 32U;
  const std::vector<Counts> cases{
      {0, kMany, 0},                  // nbodies is 0, sum is 0
      {kMany, 0, 0},                  //
      {kMany - 1, 2, 0},              // only the sum is over the limit
      {5, kMany + 17, 3},             // the low parts alone are consistent
      {kMany + 1, kMany, 7 * kMany},  //
      {0, 0, kCountLimit},            //
  };
  for (const Counts& counts : cases) {
    for (const Precision precision : {Precision::kSingle, Precision::kDouble}) {
      const auto found = make_file(counts, precision).identify();
      ASSERT_TRUE(found) << found.error().message();
      EXPECT_TRUE(found->is_pad_used);
      EXPECT_EQ(found->counts, counts);
      EXPECT_EQ(found->candidates, std::vector{precision});
    }
  }
}

TEST(Snapshot, empty_snapshot_is_single_with_either_header) {
  for (const std::uint64_t header_bytes : {kHeaderBytes, kShortHeaderBytes}) {
    const HeaderOnlyFile file{make_header(1, {}), ByteOrder::kNative, header_bytes};
    const HeaderBytes head = encode_header(file.header, file.order);
    const auto found = identify_snapshot(
        {"paper", header_bytes, std::span(head).first(header_bytes)}, std::nullopt);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->candidates, std::vector{Precision::kSingle});
    EXPECT_EQ(found->header_bytes, header_bytes);
    EXPECT_EQ(found->layout()->end_offset(), header_bytes);
  }
}

TEST(Snapshot, empty_families_are_identified) {
  for (const Counts counts : {Counts{1, 0, 0}, Counts{0, 1, 0}, Counts{0, 0, 1}, Counts{3, 0, 4}}) {
    const auto found = make_file(counts, Precision::kSingle).identify();
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->counts, counts);
  }
}

// docs/formats/tipsy.md claims that only one pair of precisions shares a size. Tests thousands of
// counts.
TEST(Snapshot, sizes_of_other_variants_are_distinct) {
  std::mt19937_64 random(20250921);
  std::uniform_int_distribution<std::uint64_t> bits(0, 31);
  const auto count = [&] { return random() & ((1ULL << bits(random)) - 1); };
  for (int i = 0; i < 5000; ++i) {
    const Counts counts{count() / 4, count() / 4, count() / 4};
    if (counts.total() == 0) continue;
    for (const std::uint64_t header_bytes : {kHeaderBytes, kShortHeaderBytes}) {
      for (const Precision precision : kPrecisions) {
        const auto found = make_file(counts, precision, header_bytes).identify();
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_EQ(found->header_bytes, header_bytes);
        EXPECT_EQ(std::ranges::count(found->candidates, precision), 1);
        const bool one_double = has_double_positions(precision) != has_double_velocities(precision);
        EXPECT_EQ(found->candidates.size(), one_double ? 2U : 1U);
      }
    }
  }
}

}  // namespace
}  // namespace forebay::tipsy
