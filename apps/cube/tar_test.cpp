// SPDX-License-Identifier: Apache-2.0
#include "cube/tar.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace forebay::cube {
namespace {

std::string read_text(const TarBlock& block, std::size_t offset, std::size_t size) {
  std::string text;
  for (std::size_t i = offset; i < offset + size; ++i)
    text += static_cast<char>(block[i]);
  return text;
}

void set(TarBlock& block, std::size_t offset, std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i)
    block[offset + i] = static_cast<std::byte>(bytes[i]);
}

TEST(Tar, header_round_trips) {
  for (const std::uint64_t size_bytes :
       {0ULL, 1ULL, 511ULL, 512ULL, (1ULL << 33U) - 1, 1ULL << 33U, (1ULL << 36U) - 1, 1ULL << 36U,
        1ULL << 40U, (1ULL << 63U) - 1}) {
    const auto header = decode_tar_header(encode_tar_header("12.data", size_bytes));
    ASSERT_TRUE(header) << header.error().message();
    EXPECT_EQ(header->name, "12.data");
    EXPECT_EQ(header->size_bytes, size_bytes);
    EXPECT_TRUE(header->is_checksum_valid);
    EXPECT_TRUE(header->is_file());
  }
}

TEST(Tar, sizes_use_documented_encoding) {
  EXPECT_EQ(read_text(encode_tar_header("a", 30), 124, 12), std::string("00000000036\0", 12));
  EXPECT_EQ(read_text(encode_tar_header("a", (1ULL << 33U) - 1), 124, 12),
            std::string("77777777777\0", 12));
  EXPECT_EQ(read_text(encode_tar_header("a", 1ULL << 33U), 124, 13), "100000000000 ");
  EXPECT_EQ(read_text(encode_tar_header("a", 1ULL << 36U), 124, 12),
            std::string("\x80\0\0\0\0\0\0\x10\0\0\0\0", 12));
}

TEST(Tar, name_of_100_bytes_has_no_terminator) {
  const std::string name(kTarNameBytesMax, 'n');
  EXPECT_EQ(decode_tar_header(encode_tar_header(name, 1))->name, name);
}

TEST(Tar, longer_name_is_split_at_slash) {
  for (const std::size_t directory_bytes : {1UL, 20UL, kTarNameBytesMax, 155UL}) {
    const std::string name =
        std::string(directory_bytes, 'f') + "/" + std::string(kTarNameBytesMax, 'n');
    EXPECT_EQ(decode_tar_header(encode_tar_header(name, 1))->name, name);
  }
}

TEST(Tar, wrong_checksum_is_reported_and_accepted) {
  TarBlock block = encode_tar_header("a", 30);
  set(block, 148, std::string_view("000001\0 ", 8));
  const auto header = decode_tar_header(block);
  ASSERT_TRUE(header);
  EXPECT_FALSE(header->is_checksum_valid);
  EXPECT_EQ(header->size_bytes, 30U);
}

TEST(Tar, typeflag_nul_is_a_regular_file) {
  TarBlock block = encode_tar_header("a", 30);
  block[156] = std::byte{0};
  EXPECT_TRUE(decode_tar_header(block)->is_file());
  block[156] = std::byte{'5'};
  EXPECT_FALSE(decode_tar_header(block)->is_file());
}

TEST(Tar, block_without_header_is_damage) {
  TarBlock block = encode_tar_header("a", 30);
  block[257] = std::byte{'x'};
  const auto header = decode_tar_header(block);
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().kind(), ErrorClass::kDamage);
}

TEST(Tar, invalid_size_returns_damage_with_offset) {
  for (const std::string& size :
       {std::string("0000000z036\0", 12), std::string(12, '\xff'), "\x80" + std::string(11, '\xff'),
        std::string("-0000000001\0", 12)}) {
    TarBlock block = encode_tar_header("a", 30);
    set(block, 124, size);
    const auto header = decode_tar_header(block);
    ASSERT_FALSE(header) << size;
    EXPECT_EQ(header.error().offset_bytes(), 124U);
  }
}

TEST(Tar, prefix_and_name_are_joined) {
  TarBlock block = encode_tar_header("0.data", 30);
  set(block, 345, "directory");
  EXPECT_EQ(decode_tar_header(block)->name, "directory/0.data");
}

TEST(Tar, sizes_are_rounded_up_to_blocks) {
  EXPECT_EQ(round_up_to_block(0), 0U);
  EXPECT_EQ(round_up_to_block(1), 512U);
  EXPECT_EQ(round_up_to_block(512), 512U);
  EXPECT_EQ(round_up_to_block(513), 1024U);
}

}  // namespace
}  // namespace forebay::cube
