// SPDX-License-Identifier: Apache-2.0
// Layouts for Lustre, byte by byte, and the outcome on other file systems.
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

TEST(LustreLayout, has_the_layout_of_the_kernel_structure) {
  const auto wanted = bytes_of({0xd0, 0x0b, 0xd1, 0x0b,              // magic of version 1
                                1,    0,    0,    0,                 // striped
                                0,    0,    0,    0,    0, 0, 0, 0,  // identity, which
                                0,    0,    0,    0,    0, 0, 0, 0,  // the kernel sets
                                0,    0,    0x40, 0,                 // 4 MiB
                                0x0c, 0x01,                          // 268 servers
                                0xff, 0xff});                        // any first server
  EXPECT_EQ(encode_lustre_layout({.stripe_bytes = 4_MiB, .stripe_count = 268}), wanted);
}

TEST(LustreLayout, open_values_are_encoded_as_zero) {
  const auto wanted = bytes_of({0xd0, 0x0b, 0xd1, 0x0b, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0,
                                0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff});
  EXPECT_EQ(encode_lustre_layout({}), wanted);
}

TEST(LustreLayout, encoded_layout_is_parsed_back) {
  const StripeHint hint{.stripe_bytes = 1_MiB, .stripe_count = 3};
  const StripeLayout stripes{.stripe_bytes = 1_MiB, .stripe_count = 3};
  EXPECT_EQ(parse_lustre_layout(encode_lustre_layout(hint)), stripes);
}

TEST(LustreLayout, stripe_count_is_clamped_to_the_maximum) {
  const auto layout = encode_lustre_layout({.stripe_count = 65'536});
  EXPECT_EQ(layout[28], std::byte{0xd0});
  EXPECT_EQ(layout[29], std::byte{0x07}) << "2000";
}

TEST(LustreLayout, other_file_systems_refuse_and_no_file_is_left) {
  const TemporaryDirectory directory;
  const Status made = create_lustre_file(directory / "file", {.stripe_bytes = 1_MiB});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().error_number(), ENOTTY) << made.error().message();
  EXPECT_FALSE(std::filesystem::exists(directory / "file"));
}

TEST(LustreLayout, existing_file_is_refused_and_kept) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "file") << "content";
  const Status made = create_lustre_file(directory / "file", {.stripe_bytes = 1_MiB});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().error_number(), EEXIST);
  EXPECT_EQ(std::filesystem::file_size(directory / "file"), 7U);
}

}  // namespace
}  // namespace forebay::storage
