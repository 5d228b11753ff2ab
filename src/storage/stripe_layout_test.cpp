// SPDX-License-Identifier: Apache-2.0
#include "storage/stripe_layout.hpp"

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/testing.hpp"

namespace forebay::storage {
namespace {

/// A file on Lustre: 4 stripes of 1 MiB, as `getfattr -n lustre.lov` prints it.
std::vector<std::byte> lustre_layout(std::uint32_t magic,
                                     std::uint32_t bytes,
                                     std::uint16_t count) {
  std::vector<std::byte> layout(32 + 4 * 24);
  const std::uint32_t pattern = 1;
  std::memcpy(layout.data(), &magic, 4);
  std::memcpy(layout.data() + 4, &pattern, 4);
  std::memcpy(layout.data() + 24, &bytes, 4);
  std::memcpy(layout.data() + 28, &count, 2);
  return layout;
}

TEST(StripeLayout, lustre_layouts_of_both_versions_are_parsed) {
  const StripeLayout wanted{.stripe_bytes = 1U << 20U, .stripe_count = 4};
  EXPECT_EQ(parse_lustre_layout(lustre_layout(0x0BD10BD0, 1U << 20U, 4)), wanted);
  EXPECT_EQ(parse_lustre_layout(lustre_layout(0x0BD30BD0, 1U << 20U, 4)), wanted);
}

TEST(StripeLayout, invalid_lustre_layouts_are_rejected) {
  EXPECT_FALSE(parse_lustre_layout({}));
  EXPECT_FALSE(parse_lustre_layout(lustre_layout(0x0BD60BD0, 1U << 20U, 4)))
      << "a layout of several parts";
  EXPECT_FALSE(parse_lustre_layout(lustre_layout(0x0BD10BD0, 0, 4)));
  EXPECT_FALSE(parse_lustre_layout(lustre_layout(0x0BD10BD0, 1U << 20U, 0)));
  EXPECT_FALSE(parse_lustre_layout(lustre_layout(0x0BD10BD0, 1U << 31U, 2)));
  EXPECT_FALSE(parse_lustre_layout(lustre_layout(0x0BD10BD0, 2048, 2)));
  const auto whole = lustre_layout(0x0BD10BD0, 1U << 20U, 4);
  for (std::size_t size = 0; size < 32; ++size)
    EXPECT_FALSE(parse_lustre_layout(std::span(whole).first(size))) << size;
}

TEST(StripeLayout, emufs_layouts_are_parsed_as_words) {
  StripeLayout wanted{.stripe_bytes = 65536, .stripe_count = 3, .first_server = 1};
  EXPECT_EQ(parse_emufs_layout("stripe_bytes=65536 stripe_count=3 first_server=1"), wanted);
  wanted.first_server = 0;
  EXPECT_EQ(parse_emufs_layout("first_server=0 stripe_bytes=65536 stripe_count=3"), wanted);
  wanted.first_server = std::nullopt;
  EXPECT_EQ(parse_emufs_layout("stripe_bytes=65536 stripe_count=3 first_server=rotate"), wanted);
  EXPECT_EQ(parse_emufs_layout("stripe_bytes=65536 stripe_count=3 first_server=65536"), wanted);
  EXPECT_EQ(parse_emufs_layout("my_stripe_count=9\nstripe_count=3 stripe_bytes=65536"), wanted);
  EXPECT_FALSE(parse_emufs_layout(""));
  EXPECT_FALSE(parse_emufs_layout("stripe_bytes=65536"));
  EXPECT_FALSE(parse_emufs_layout("stripe_bytes=x stripe_count=3"));
  EXPECT_FALSE(parse_emufs_layout("stripe_bytes=65536 stripe_count=99999999999"));
}

// 2^63 bytes on 2 servers: the size of a row overflowed to 0, and a remainder by it crashed.
TEST(StripeLayout, impossible_layouts_are_rejected) {
  EXPECT_FALSE(parse_emufs_layout("stripe_bytes=9223372036854775808 stripe_count=2"));
  EXPECT_FALSE(parse_emufs_layout("stripe_bytes=2147483648 stripe_count=2"));
  EXPECT_FALSE(parse_emufs_layout("stripe_bytes=2048 stripe_count=2"));
  EXPECT_FALSE(parse_emufs_layout("stripe_bytes=65536 stripe_count=65537"));
  EXPECT_TRUE(parse_emufs_layout("stripe_bytes=1073741824 stripe_count=65536"));
  EXPECT_TRUE(parse_emufs_layout("stripe_bytes=4096 stripe_count=1"));
}

TEST(StripeLayout, file_without_layout_has_no_value) {
  const TemporaryDirectory directory;
  const auto file = open_file(directory / "file", {.intent = Intent::kCreate}).value();
  EXPECT_FALSE(stripe_layout_of(*file));
}

}  // namespace
}  // namespace forebay::storage
