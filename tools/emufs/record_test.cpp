// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/record.hpp"

#include <random>

#include <gtest/gtest.h>

namespace forebay::emufs {
namespace {

Record example() {
  return {.kind = RecordKind::kRename,
          .file = 0x0102030405060708,
          .directory = 2,
          .to_directory = 3,
          .name = "from",
          .to_name = "to",
          .offset = 1ULL << 40U,
          .size = 5,
          .mode = 0100644,
          .user = 6,
          .group = UINT32_MAX,
          .data = std::string("\0data\n", 6)};
}

TEST(RecordFormat, record_round_trip) {
  const std::string bytes = encode(example(), 77);
  const Decoded decoded = decode(bytes);
  EXPECT_EQ(decoded.status, DecodeStatus::kOk);
  EXPECT_EQ(decoded.record, example());
  EXPECT_EQ(decoded.number, 77U);
  EXPECT_EQ(decoded.bytes, bytes.size());
}

TEST(RecordFormat, field_offsets_match_the_format_page) {
  const std::string bytes = encode(example(), 77);
  EXPECT_EQ(bytes.substr(0, 4), "ECRD");
  EXPECT_EQ(bytes[4], 9);
  EXPECT_EQ(bytes[8], 77);
  EXPECT_EQ(bytes[16], 8);
  EXPECT_EQ(bytes[23], 1);
  EXPECT_EQ(bytes[68], 4);
  EXPECT_EQ(bytes[72], 2);
  EXPECT_EQ(bytes[80], 6);
  EXPECT_EQ(bytes.substr(96, 6), "fromto");
  EXPECT_EQ(bytes.size(), 96U + 12 + 8);
  EXPECT_EQ(recording_header(), "forebay-emufs 1\n");
}

TEST(RecordFormat, truncated_record_is_not_damage) {
  const std::string bytes = encode(example(), 1);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(decode(bytes.substr(0, size)).status, DecodeStatus::kTruncated) << size;
  }
}

TEST(RecordFormat, every_changed_bit_is_detected) {
  const std::string bytes = encode(example(), 1);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string changed = bytes;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(decode(changed).status, DecodeStatus::kOk) << bit;
  }
}

TEST(RecordFormat, random_bytes_are_decoded_within_bounds) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = encode(example(), 1);
    for (int changes = 0; changes < 4; ++changes) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    bytes.resize(random() % (bytes.size() + 1));
    const Decoded decoded = decode(bytes);
    EXPECT_LE(decoded.bytes, bytes.size());
  }
}

TEST(RecordFormat, every_kind_has_a_name) {
  for (int kind = 1; kind <= 20; ++kind) {
    EXPECT_FALSE(name_of(static_cast<RecordKind>(kind)).empty()) << kind;
  }
  EXPECT_TRUE(is_change(RecordKind::kFallocate));
  EXPECT_FALSE(is_change(RecordKind::kFsync));
  EXPECT_FALSE(is_change(RecordKind::kExisting));
}

}  // namespace
}  // namespace forebay::emufs
