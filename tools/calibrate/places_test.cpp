// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/places.hpp"

#include <forebay/range.hpp>

#include <set>

#include <gtest/gtest.h>

namespace forebay::calibrate {
namespace {

/// The offsets of many requests.
std::set<std::uint64_t> offsets(const Places& places, std::uint64_t request_bytes) {
  std::mt19937_64 random(1);
  std::set<std::uint64_t> found;
  for (int i = 0; i < 10'000; ++i)
    found.insert(places.random(random, request_bytes));
  return found;
}

// Reads past the end of a file gave 0 bytes at once, and counted: storage seemed to be very fast.
TEST(Places, lie_in_the_file_where_a_stripe_is_longer_than_it) {
  const Places places{.file_bytes = 4_MiB, .stripe_bytes = 1_GiB, .server_count = 4};
  for (const std::uint64_t request : {4_KiB, 1_MiB}) {
    const auto found = offsets(places, request);
    EXPECT_EQ(found.size(), 4_MiB / request);
    EXPECT_EQ(*found.rbegin(), 4_MiB - request);
  }
}

TEST(Places, are_those_of_the_first_server) {
  const Places places{.file_bytes = 4_MiB + 64_KiB, .stripe_bytes = 64_KiB, .server_count = 4};
  const auto found = offsets(places, 4_KiB);
  EXPECT_EQ(found.size(), 16U * 16U) << "whole rows only";
  for (const std::uint64_t offset : found)
    EXPECT_EQ(offset / 64_KiB % 4, 0U) << offset;
}

TEST(Places, are_any_where_one_server_has_all) {
  EXPECT_EQ(offsets({.file_bytes = 1_MiB}, 64_KiB).size(), 16U);
  EXPECT_EQ(offsets({.file_bytes = 1_MiB, .stripe_bytes = 64_KiB}, 64_KiB).size(), 16U);
}

}  // namespace
}  // namespace forebay::calibrate
