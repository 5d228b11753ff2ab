// SPDX-License-Identifier: Apache-2.0
#include "tipsy/snapshot.hpp"

#include <algorithm>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace forebay::tipsy {
namespace {

/// A file that exists as header and size only.
struct Paper {
  Header header;
  ByteOrder order = ByteOrder::kStandard;
  std::uint64_t file_bytes = 0;

  Result<Snapshot> recognised(std::optional<Precision> word = std::nullopt) const {
    const HeaderBytes head = encode_header(header, order);
    return recognise({"paper", file_bytes, head}, word);
  }
};

Paper paper(const Counts& counts, Precision precision, std::uint64_t header_bytes = kHeaderBytes) {
  return {header_for(0.5, counts), ByteOrder::kStandard,
          header_bytes + records_bytes(counts, precision)};
}

std::string refusal(const Result<Snapshot>& result, ErrorClass kind) {
  if (result) return "was not refused";
  EXPECT_EQ(result.error().kind(), kind) << result.error().message();
  EXPECT_EQ(result.error().path(), "paper");
  return result.error().message();
}

TEST(Snapshot, each_variant_is_recognised_from_header_and_size) {
  const Counts counts{10, 20, 30};
  for (const Precision precision : {Precision::kSingle, Precision::kDouble}) {
    for (const ByteOrder order : {ByteOrder::kStandard, ByteOrder::kNative}) {
      for (const std::uint64_t header_bytes : {kHeaderBytes, kShortHeaderBytes}) {
        Paper file = paper(counts, precision, header_bytes);
        file.order = order;
        const auto found = file.recognised();
        ASSERT_TRUE(found) << found.error().message();
        EXPECT_EQ(found->order, order);
        EXPECT_EQ(found->header_bytes, header_bytes);
        EXPECT_EQ(found->counts, counts);
        EXPECT_EQ(found->candidates, std::vector{precision});
        EXPECT_EQ(found->header.time, 0.5);
        EXPECT_EQ(found->layout()->end_bytes(), file.file_bytes);
      }
    }
  }
}

TEST(Snapshot, one_double_coordinate_needs_the_users_word) {
  for (const Precision precision : {Precision::kDoublePositions, Precision::kDoubleVelocities}) {
    const Paper file = paper({10, 20, 30}, precision);
    const auto open_question = file.recognised();
    ASSERT_TRUE(open_question);
    EXPECT_EQ(open_question->candidates,
              (std::vector{Precision::kDoublePositions, Precision::kDoubleVelocities}));
    const auto layout = open_question->layout();
    ASSERT_FALSE(layout);
    EXPECT_EQ(layout.error().kind(), ErrorClass::kInvalidArgument);
    EXPECT_NE(layout.error().message().find("--double-velocities"), std::string::npos);

    const auto answered = file.recognised(precision);
    ASSERT_TRUE(answered);
    EXPECT_EQ(answered->layout()->precision, precision);
    EXPECT_EQ(answered->trailing_bytes, 0U);
  }
}

TEST(Snapshot, a_word_against_the_size_is_refused) {
  const Paper file = paper({10, 20, 30}, Precision::kSingle);
  const std::string text =
      refusal(file.recognised(Precision::kDouble), ErrorClass::kInvalidArgument);
  EXPECT_NE(text.find("fit single"), std::string::npos) << text;
}

TEST(Snapshot, trailing_bytes_need_the_users_word) {
  Paper file = paper({10, 20, 30}, Precision::kDoublePositions);
  file.file_bytes += 5;
  const std::string text = refusal(file.recognised(), ErrorClass::kDamage);
  for (const Precision precision : kPrecisions) {
    EXPECT_NE(text.find(name_of(precision)), std::string::npos) << text;
  }
  const auto found = file.recognised(Precision::kDoublePositions);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->trailing_bytes, 5U);
  EXPECT_EQ(found->layout()->end_bytes() + 5, file.file_bytes);
}

TEST(Snapshot, truncated_body_says_how_much_is_left) {
  Paper file = paper({10, 20, 30}, Precision::kSingle);
  file.file_bytes = 32 + 10 * 48 + 7 * 36 + 1;
  for (const auto word : {std::optional<Precision>{}, std::optional{Precision::kSingle}}) {
    const std::string text = refusal(file.recognised(word), ErrorClass::kShortFile);
    EXPECT_NE(text.find("17 of 60 particles are whole"), std::string::npos) << text;
    EXPECT_NE(text.find("1787 bytes are missing"), std::string::npos) << text;
  }
}

TEST(Snapshot, file_shorter_than_a_header_is_refused) {
  const HeaderBytes head = encode_header(header_for(0, {1, 0, 0}), ByteOrder::kStandard);
  for (const std::size_t size : {0U, 1U, 27U}) {
    const auto found = recognise({"paper", size, std::span(head).first(size)}, std::nullopt);
    (void)refusal(found, ErrorClass::kDamage);
    ASSERT_FALSE(found);
    EXPECT_EQ(found.error().offset_bytes(), size);
  }
}

TEST(Snapshot, foreign_magic_is_refused_at_its_offset) {
  Paper file = paper({10, 20, 30}, Precision::kSingle);
  file.header.ndim = 4;
  const auto found = file.recognised();
  const std::string text = refusal(found, ErrorClass::kDamage);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().offset_bytes(), 12U);
  EXPECT_NE(text.find("it is 67108864 in native and 4 in standard"), std::string::npos) << text;
}

TEST(Snapshot, fewer_dimensions_are_not_supported) {
  for (const ByteOrder order : {ByteOrder::kStandard, ByteOrder::kNative}) {
    Paper file = paper({10, 20, 30}, Precision::kSingle);
    file.order = order;
    file.header.ndim = 2;
    const std::string text = refusal(file.recognised(), ErrorClass::kUnsupported);
    EXPECT_NE(text.find("it has 2 dimensions; only 3 are supported"), std::string::npos) << text;
  }
}

TEST(Snapshot, compressed_files_are_named) {
  HeaderBytes head{std::byte{0x1f}, std::byte{0x8b}, std::byte{8}};
  const std::string text =
      refusal(recognise({"paper", 5000, head}, std::nullopt), ErrorClass::kUnsupported);
  EXPECT_NE(text.find("compressed with gzip; unpack it first, with gunzip"), std::string::npos)
      << text;
}

TEST(Snapshot, the_families_count_alone_where_the_user_says_so) {
  Paper file = paper({10, 10, 10}, Precision::kSingle);
  file.header.nbodies = 35;
  const std::string text = refusal(file.recognised(), ErrorClass::kDamage);
  EXPECT_NE(text.find("say --counts-from families"), std::string::npos) << text;
  const HeaderBytes head = encode_header(file.header, file.order);
  const auto found =
      recognise({"paper", file.file_bytes, head, CountsFrom::kSumOfFamilies}, std::nullopt);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->counts, (Counts{10, 10, 10}));
}

TEST(Snapshot, ids_of_bonsai_are_told_by_the_pad) {
  Paper file = paper({0, 20, 8}, Precision::kSingle);
  EXPECT_FALSE(file.recognised()->has_ids());
  file.header.pad = 2;
  EXPECT_TRUE(file.recognised()->has_ids());
}

TEST(Snapshot, wrong_count_is_refused_with_both_numbers) {
  Paper file = paper({10, 20, 30}, Precision::kSingle);
  file.header.nbodies = 61;
  const auto found = file.recognised();
  const std::string text = refusal(found, ErrorClass::kDamage);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().offset_bytes(), 8U);
  EXPECT_NE(text.find("nbodies is 61, but the families sum to 60"), std::string::npos) << text;
}

TEST(Snapshot, rubbish_in_the_pad_changes_nothing_when_the_counts_are_consistent) {
  // ChaNGa's onestar.tbin: 1088 gas, 1 star, pad 1, 52300 bytes.
  Paper file = paper({1088, 0, 1}, Precision::kSingle);
  ASSERT_EQ(file.file_bytes, 52300U);
  for (const std::uint32_t pad : {1U, 0x01010101U, 0xffffffffU}) {
    file.header.pad = pad;
    const auto found = file.recognised();
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_FALSE(found->pad_used);
    EXPECT_EQ(found->counts, (Counts{1088, 0, 1}));
  }
}

TEST(Snapshot, consistent_wide_pad_changes_nothing_when_the_size_fits_plain_counts) {
  Paper file = paper({5, 0, 0}, Precision::kSingle);
  file.header.pad = 0x0101;  // nbodies and gas would both gain 2^32
  const auto found = file.recognised();
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->counts.gas, 5U);
}

TEST(Snapshot, counts_over_2_to_the_32_come_from_the_pad) {
  constexpr std::uint64_t kMany = 1ULL << 32U;
  const std::vector<Counts> cases{
      {0, kMany, 0},                  // nbodies is 0, sum is 0
      {kMany, 0, 0},                  //
      {kMany - 1, 2, 0},              // only the sum is over the limit
      {5, kMany + 17, 3},             // the low parts are consistent by themselves
      {kMany + 1, kMany, 7 * kMany},  //
      {0, 0, kCountLimit},            //
  };
  for (const Counts& counts : cases) {
    for (const Precision precision : {Precision::kSingle, Precision::kDouble}) {
      const auto found = paper(counts, precision).recognised();
      ASSERT_TRUE(found) << found.error().message();
      EXPECT_TRUE(found->pad_used);
      EXPECT_EQ(found->counts, counts);
      EXPECT_EQ(found->candidates, std::vector{precision});
    }
  }
}

TEST(Snapshot, empty_snapshot_is_single_with_either_header) {
  for (const std::uint64_t header_bytes : {kHeaderBytes, kShortHeaderBytes}) {
    const Paper file{header_for(1, {}), ByteOrder::kNative, header_bytes};
    const HeaderBytes head = encode_header(file.header, file.order);
    const auto found =
        recognise({"paper", header_bytes, std::span(head).first(header_bytes)}, std::nullopt);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->candidates, std::vector{Precision::kSingle});
    EXPECT_EQ(found->header_bytes, header_bytes);
    EXPECT_EQ(found->layout()->end_bytes(), header_bytes);
  }
}

TEST(Snapshot, empty_families_are_recognised) {
  for (const Counts counts : {Counts{1, 0, 0}, Counts{0, 1, 0}, Counts{0, 0, 1}, Counts{3, 0, 4}}) {
    const auto found = paper(counts, Precision::kSingle).recognised();
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->counts, counts);
  }
}

// The page claims that only one pair of precisions shares a size. Here are thousands of counts.
TEST(Snapshot, sizes_of_all_other_variants_never_meet) {
  std::mt19937_64 random(20250921);
  std::uniform_int_distribution<std::uint64_t> bits(0, 31);
  const auto count = [&] { return random() & ((1ULL << bits(random)) - 1); };
  for (int i = 0; i < 5000; ++i) {
    const Counts counts{count() / 4, count() / 4, count() / 4};
    if (counts.total() == 0) continue;
    for (const std::uint64_t header_bytes : {kHeaderBytes, kShortHeaderBytes}) {
      for (const Precision precision : kPrecisions) {
        const auto found = paper(counts, precision, header_bytes).recognised();
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
