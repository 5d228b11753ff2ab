// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/offset_sampler.hpp"

#include <forebay/range.hpp>

#include <set>

#include <gtest/gtest.h>

namespace forebay::calibrate {
namespace {

/// The offsets of many requests.
std::set<std::uint64_t> offsets(const OffsetSampler& places, std::uint64_t request_bytes) {
  std::mt19937_64 random(1);
  std::set<std::uint64_t> found;
  for (int i = 0; i < 10'000; ++i)
    found.insert(places.random_offset(random, request_bytes));
  return found;
}

// Reads past the end of a file returned 0 bytes at once and were counted, so storage seemed very
// fast.
TEST(OffsetSampler, offsets_lie_in_a_file_shorter_than_a_stripe) {
  const OffsetSampler places{.file_bytes = 4_MiB, .stripe_bytes = 1_GiB, .server_count = 4};
  for (const std::uint64_t request : {4_KiB, 1_MiB}) {
    const auto found = offsets(places, request);
    EXPECT_EQ(found.size(), 4_MiB / request);
    EXPECT_EQ(*found.rbegin(), 4_MiB - request);
  }
}

TEST(OffsetSampler, offsets_are_on_the_first_server) {
  const OffsetSampler places{
      .file_bytes = 4_MiB + 64_KiB, .stripe_bytes = 64_KiB, .server_count = 4};
  const auto found = offsets(places, 4_KiB);
  EXPECT_EQ(found.size(), 16U * 16U) << "whole stripe rounds only";
  for (const std::uint64_t offset : found)
    EXPECT_EQ(offset / 64_KiB % 4, 0U) << offset;
}

TEST(OffsetSampler, offsets_are_anywhere_with_one_server) {
  EXPECT_EQ(offsets({.file_bytes = 1_MiB}, 64_KiB).size(), 16U);
  EXPECT_EQ(offsets({.file_bytes = 1_MiB, .stripe_bytes = 64_KiB}, 64_KiB).size(), 16U);
}

}  // namespace
}  // namespace forebay::calibrate
