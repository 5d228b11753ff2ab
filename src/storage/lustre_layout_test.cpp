// SPDX-License-Identifier: Apache-2.0
// Layouts for Lustre, byte by byte, and what becomes of a file where nobody understands them.
#include "storage/lustre_layout.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "storage/testing.hpp"

namespace forebay::storage {
namespace {

LustreLayout bytes_of(const std::array<int, 32>& numbers) {
  LustreLayout bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(numbers[i]);
  return bytes;
}

TEST(LustreLayout, has_each_byte_where_the_kernel_looks_for_it) {
  const auto wanted = bytes_of({0xd0, 0x0b, 0xd1, 0x0b,              // magic of version 1
                                1,    0,    0,    0,                 // striped
                                0,    0,    0,    0,    0, 0, 0, 0,  // whose it is: the kernel's
                                0,    0,    0,    0,    0, 0, 0, 0,  // to fill in
                                0,    0,    0x40, 0,                 // 4 MiB
                                0x0c, 0x01,                          // 268 servers
                                0xff, 0xff});                        // from any of them on
  EXPECT_EQ(encode_lustre_layout({.stripe_bytes = 4_MiB, .server_count = 268}), wanted);
}

TEST(LustreLayout, leaves_open_what_nobody_wishes) {
  const auto wanted = bytes_of({0xd0, 0x0b, 0xd1, 0x0b, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0,
                                0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff});
  EXPECT_EQ(encode_lustre_layout({}), wanted);
}

TEST(LustreLayout, that_is_encoded_is_understood_when_it_is_read) {
  const StripeWish wish{.stripe_bytes = 1_MiB, .server_count = 3};
  const Stripes stripes{.stripe_bytes = 1_MiB, .server_count = 3};
  EXPECT_EQ(parse_lustre_layout(encode_lustre_layout(wish)), stripes);
}

TEST(LustreLayout, of_more_servers_than_can_be_is_of_all_that_can) {
  const auto layout = encode_lustre_layout({.server_count = 65'536});
  EXPECT_EQ(layout[28], std::byte{0xd0});
  EXPECT_EQ(layout[29], std::byte{0x07}) << "2000";
}

TEST(LustreLayout, elsewhere_is_refused_and_leaves_nothing_behind) {
  const TemporaryFolder folder;
  const Status made = make_lustre_file(folder / "file", {.stripe_bytes = 1_MiB});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().error_number(), ENOTTY) << made.error().message();
  EXPECT_FALSE(std::filesystem::exists(folder / "file"));
}

TEST(LustreLayout, of_a_file_that_is_there_is_refused_and_the_file_stays) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "content";
  const Status made = make_lustre_file(folder / "file", {.stripe_bytes = 1_MiB});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().error_number(), EEXIST);
  EXPECT_EQ(std::filesystem::file_size(folder / "file"), 7U);
}

}  // namespace
}  // namespace forebay::storage
