// SPDX-License-Identifier: Apache-2.0
#include "cube/container.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "cube/tar_extension.hpp"
#include "cube/testing.hpp"

namespace forebay::cube {
namespace {

using testing::MemoryFile;

/// Builds an archive block by block.
class ArchiveBuilder {
 public:
  ArchiveBuilder& member(const std::string& name, const std::string& content, char kind = '0') {
    TarBlock block = encode_tar_header(name, content.size());
    if (kind != '0') {
      block[156] = static_cast<std::byte>(kind);
      set_checksum(block);
    }
    append(block);
    append(testing::bytes_of(content));
    bytes_.resize(round_up_to_block(bytes_.size()));
    return *this;
  }
  ArchiveBuilder& zeros(std::size_t blocks) {
    bytes_.resize(bytes_.size() + blocks * kTarBlockBytes);
    return *this;
  }
  ArchiveBuilder& cut(std::size_t size_bytes) {
    bytes_.resize(size_bytes);
    return *this;
  }
  ArchiveBuilder& set(std::size_t offset, char c) {
    bytes_[offset] = static_cast<std::byte>(c);
    return *this;
  }
  Result<Container> read() const { return read_container(MemoryFile(bytes_)); }

 private:
  void append(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  static void set_checksum(TarBlock& block) {
    std::ranges::fill(std::span(block).subspan(148, 8), std::byte{' '});
    unsigned sum = 0;
    for (const std::byte byte : block)
      sum += static_cast<unsigned>(byte);
    const std::string digits = fmt_octal(sum);
    for (std::size_t i = 0; i < digits.size(); ++i)
      block[148 + i] = static_cast<std::byte>(digits[i]);
  }
  static std::string fmt_octal(unsigned number) {
    std::string digits;
    for (int shift = 15; shift >= 0; shift -= 3)
      digits += static_cast<char>('0' + (number >> static_cast<unsigned>(shift)) % 8);
    return digits + '\0';
  }

  std::vector<std::byte> bytes_;
};

TEST(Container, members_are_found_by_name) {
  const auto container =
      ArchiveBuilder().member("0.data", "abc").member("./anchor.xml", "").zeros(2).read();
  ASSERT_TRUE(container) << container.error().message();
  EXPECT_TRUE(container->remarks.empty());
  ASSERT_NE(container->find("0.data"), nullptr);
  EXPECT_EQ(container->find("0.data")->bytes, (ByteRange{512, 3}));
  EXPECT_NE(container->find("anchor.xml"), nullptr);
  EXPECT_EQ(container->find("1.data"), nullptr);
}

// Regression test for quadratic time: each name was compared with all before it.
TEST(Container, maximum_number_of_members_is_found) {
  ArchiveBuilder archive;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kMembersMax; ++i) {
    names.push_back(data_name(static_cast<std::uint32_t>(i)));
    archive.member(names.back(), "");
  }
  const auto container = archive.zeros(2).read();
  ASSERT_TRUE(container) << container.error().message();
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(container->find(names[i]), &container->members[i]);
}

TEST(Container, first_of_several_paddings_is_found) {
  const auto container =
      ArchiveBuilder().member("padding", "1").member("padding", "22").zeros(2).read();
  ASSERT_TRUE(container) << container.error().message();
  EXPECT_EQ(container->find("padding")->bytes.size, 1U);
}

TEST(Container, non_regular_files_are_skipped) {
  const auto container =
      ArchiveBuilder().member("directory", "", '5').member("a", "1").zeros(2).read();
  ASSERT_TRUE(container) << container.error().message();
  EXPECT_EQ(container->members.size(), 1U);
}

TEST(Container, extra_block_of_cubelib_is_skipped_with_remark) {
  const auto container =
      ArchiveBuilder().member("a", std::string(512, 'x')).zeros(1).member("b", "1").zeros(2).read();
  ASSERT_TRUE(container) << container.error().message();
  EXPECT_NE(container->find("b"), nullptr);
  ASSERT_EQ(container->remarks.size(), 1U);
  EXPECT_EQ(container->remarks[0].offset, 1024U);
}

TEST(Container, missing_end_and_wrong_checksum_are_remarks) {
  for (const std::size_t zeros : {0U, 1U}) {
    const auto container = ArchiveBuilder().member("a", "1").zeros(zeros).set(150, '7').read();
    ASSERT_TRUE(container) << container.error().message();
    EXPECT_EQ(container->remarks.size(), 2U);
  }
  const auto unfilled = ArchiveBuilder().member("a", "123").cut(515).read();
  ASSERT_TRUE(unfilled) << unfilled.error().message();
  EXPECT_EQ(unfilled->find("a")->bytes.size, 3U);
}

TEST(Container, extended_header_names_next_member) {
  const auto container =
      ArchiveBuilder()
          .member("PaxHeaders/a", "17 path=./a.data\n22 mtime=1700000000.5\n", 'x')
          .member("a.dat", "123")
          .member("././@LongLink", std::string("b.data\0", 7), 'L')
          .member("b.da", "4567")
          .member("c", "8")
          .zeros(2)
          .read();
  ASSERT_TRUE(container) << container.error().message();
  ASSERT_EQ(container->members.size(), 3U);
  ASSERT_NE(container->find("a.data"), nullptr);
  EXPECT_EQ(container->find("a.data")->bytes.size, 3U);
  ASSERT_NE(container->find("b.data"), nullptr);
  EXPECT_NE(container->find("c"), nullptr) << "they apply to one member";
}

TEST(Container, size_in_extended_header_applies) {
  const auto container =
      ArchiveBuilder().member("p", "10 size=3\n", 'x').member("a", "123456").zeros(2).read();
  ASSERT_TRUE(container) << container.error().message();
  EXPECT_EQ(container->find("a")->bytes.size, 3U);
}

TEST(Container, several_extended_headers_apply_to_next_file) {
  const auto container = ArchiveBuilder()
                             .member("p", "10 size=3\n", 'x')
                             .member("././@LongLink", std::string(600, 'n'), 'L')
                             .member("a", "123456")
                             .zeros(2)
                             .read();
  ASSERT_TRUE(container) << container.error().message();
  ASSERT_NE(container->find(std::string(600, 'n')), nullptr);
  EXPECT_EQ(container->find(std::string(600, 'n'))->bytes.size, 3U);
}

void expect_error(const ArchiveBuilder& archive, ErrorClass kind, std::uint64_t offset) {
  const auto container = archive.read();
  ASSERT_FALSE(container);
  EXPECT_EQ(container.error().kind(), kind) << container.error().message();
  EXPECT_EQ(container.error().offset_bytes(), offset) << container.error().message();
  EXPECT_EQ(container.error().path(), "memory");
}

TEST(Container, damage_returns_error_with_offset) {
  expect_error(ArchiveBuilder(), ErrorClass::kDamage, 0);
  expect_error(ArchiveBuilder().zeros(1), ErrorClass::kDamage, 0);
  expect_error(ArchiveBuilder().member("a", "1").cut(100), ErrorClass::kDamage, 0);
  expect_error(ArchiveBuilder().member("a", std::string(600, 'x')).cut(1000),
               ErrorClass::kShortFile, 1000);
  expect_error(ArchiveBuilder().member("a", "1").member("a", "2").zeros(2), ErrorClass::kDamage,
               1024);
  expect_error(
      ArchiveBuilder().member("a", "1").member("b", "2").set(1024 + 257, 'x').set(1024, 'y'),
      ErrorClass::kDamage, 1024);
  for (const char* const body :
       {"pax", "7 path=", "99 path=a\n", "8 path=ab", "12 size=many\n", " path=a\n", "0 path=a\n"})
    expect_error(ArchiveBuilder().member("x", body, 'x').zeros(2), ErrorClass::kDamage, 0);
  expect_error(
      ArchiveBuilder().member("x", std::string(kTarExtensionBytesMax + 1, ' '), 'x').zeros(2),
      ErrorClass::kDamage, 0);
  expect_error(ArchiveBuilder().member("x", "22 GNU.sparse.major=1\n", 'x').zeros(2),
               ErrorClass::kUnsupported, 0);
  expect_error(ArchiveBuilder().member("\x1f\x8b", "gzip"), ErrorClass::kUnsupported, 0);
}

}  // namespace
}  // namespace forebay::cube
