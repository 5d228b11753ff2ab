// SPDX-License-Identifier: Apache-2.0
// Headers of data files, the text of a lease holder, and compressed pieces.
#include <random>

#include <gtest/gtest.h>

#include "base/testing.hpp"
#include "format/codec.hpp"
#include "format/data_header.hpp"
#include "format/lease_holder.hpp"
#include "storage/testing.hpp"

namespace forebay::format {
namespace {

TEST(DataHeader, is_read_back_equal) {
  const DataHeader header = {{std::byte{3}}, {12, 7}};
  EXPECT_EQ(decode_header(encode_header(header), "d").value(), header);
}

TEST(DataHeader, every_flipped_bit_is_damage) {
  HeaderPage page = encode_header({{std::byte{3}}, {12, 7}});
  for (std::size_t bit = 0; bit < page.size() * 8; ++bit) {
    page[bit / 8] ^= std::byte{1} << (bit % 8);
    const auto header = decode_header(page, "run.fb/data-000012.00007");
    ASSERT_EQ(error_class(header), ErrorClass::kDamage) << "bit " << bit;
    EXPECT_EQ(header.error().path(), "run.fb/data-000012.00007");
    page[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  EXPECT_EQ(error_class(decode_header(std::span(page).first(4095), "d")), ErrorClass::kShortFile);
}

LeaseHolder make_lease_holder() {
  return {.host = "node7",
          .boot_id = "5d0f",
          .process_id = 4711,
          .process_start = 99,
          .process_namespace = 4026531836,
          .user = "Jürgen \"J\"",
          .program = "flow\n",
          .opened_ns = UINT64_MAX,
          .nonce = 17,
          .device = 2049,
          .inode = 131073,
          .is_locked = true};
}

TEST(LeaseHolder, is_read_back_equal) {
  const std::string text = encode_lease_holder(make_lease_holder());
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const auto read = decode_lease_holder(text, "owner");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, make_lease_holder());
}

TEST(LeaseHolder, text_without_later_members_is_read) {
  const auto read = decode_lease_holder(
      R"({"host":"n","boot_id":"b","process_id":1,"process_start":2,"user":"u","program":"p",)"
      R"("opened_ns":3,"nonce":4,"checksum":"73cb148a9cea51d1"})",
      "owner");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->nonce, 4U);
  EXPECT_EQ(read->process_namespace, 0U);
  EXPECT_EQ(read->inode, 0U);
  EXPECT_FALSE(read->is_locked);
}

TEST(LeaseHolder, changed_or_truncated_text_is_damage) {
  std::string text = encode_lease_holder(make_lease_holder());
  for (std::size_t size = 0; size + 1 < text.size(); ++size)
    EXPECT_EQ(error_class(decode_lease_holder(text.substr(0, size), "owner")), ErrorClass::kDamage);
  for (std::size_t bit = 0; bit < (text.size() - 1) * 8; ++bit) {
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    const auto read = decode_lease_holder(text, "owner");
    EXPECT_TRUE(!read || *read == make_lease_holder()) << "bit " << bit;
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
  }
}

TEST(LeaseHolder, texts_of_any_length_and_bytes_fit_the_limit) {
  LeaseHolder holder = make_lease_holder();
  holder.host = holder.boot_id = holder.user = std::string(5000, '\x01');
  holder.program = std::string(5000, '\xFF');
  const std::string text = encode_lease_holder(holder);
  EXPECT_LE(text.size(), kLeaseHolderBytesMax);
  EXPECT_TRUE(decode_lease_holder(text, "owner"));
}

std::vector<std::byte> compress(Codec codec, std::span<const std::byte> raw) {
  std::vector<std::byte> into(kStoredPieceBytesMax);
  into.resize(compress_piece(codec, kZstdLevelDefault, raw, into).value());
  return into;
}

TEST(Codec, round_trip_returns_the_raw_bytes) {
  std::mt19937_64 random(1);
  std::vector<std::byte> noise(kPieceBytes);
  for (std::byte& byte : noise)
    byte = static_cast<std::byte>(random());
  const std::vector<std::byte> zeros(kPieceBytes);
  for (const Codec codec : {Codec::kNone, Codec::kZstd}) {
    for (const std::vector<std::byte>& raw :
         {noise, zeros, std::vector<std::byte>(), std::vector<std::byte>(1)}) {
      const std::vector<std::byte> bytes = compress(codec, raw);
      EXPECT_LE(bytes.size(), raw.size());
      std::vector<std::byte> back(raw.size(), std::byte{1});
      EXPECT_TRUE(decompress_piece(codec, bytes, back));
      EXPECT_EQ(back, raw);
    }
  }
  EXPECT_LT(compress(Codec::kZstd, zeros).size(), 1000U);
  EXPECT_EQ(compress(Codec::kZstd, noise).size(), noise.size());
}

TEST(Codec, damaged_piece_is_refused) {
  const std::vector<std::byte> raw(5000);
  std::vector<std::byte> bytes = compress(Codec::kZstd, raw);
  std::vector<std::byte> back(raw.size());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decompress_piece(Codec::kZstd, std::span(bytes).first(size), back)) << size;
  back.resize(4999);
  EXPECT_FALSE(decompress_piece(Codec::kZstd, bytes, back));
  back.resize(5001);
  EXPECT_FALSE(decompress_piece(Codec::kZstd, bytes, back));
  EXPECT_FALSE(decompress_piece(Codec::kNone, bytes, back));
  std::vector<std::byte> into(kPieceBytes);
  EXPECT_EQ(error_class(compress_piece(Codec::kZstd, 99, raw, into)), ErrorClass::kInvalidArgument);
}

}  // namespace
}  // namespace forebay::format
