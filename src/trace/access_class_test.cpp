// SPDX-License-Identifier: Apache-2.0
#include "trace/access_class.hpp"

#include <chrono>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "trace/access_list.hpp"
#include "trace/item_testing.hpp"
#include "trace/signature_search.hpp"

namespace forebay::trace {
namespace {

using testing::access;
using testing::accesses_of;
using testing::loop;
using testing::number;

AccessClass classify(const std::vector<Access>& accesses) {
  const Result<Signature> signature = signature_of(accesses, Operation::kRead);
  return classify(accesses, signature.value_or(Signature{}));
}

AccessClass classify(const std::vector<Item>& items) {
  const Signature signature{.items = items};
  return classify(accesses_of(signature), signature);
}

TEST(AccessClass, contiguous_accesses_of_any_size_are_contiguous) {
  std::mt19937_64 random(1);
  std::vector<Access> accesses;
  std::uint64_t offset = 0;
  for (int i = 0; i < 100; ++i) {
    accesses.push_back({offset, random() % 1000});
    offset = accesses.back().end();
  }
  EXPECT_EQ(classify(accesses).spatial, SpatialPattern::kContiguous);
  EXPECT_EQ(classify(accesses).size_variation, SizeVariation::kVariable);
}

TEST(AccessClass, negative_step_is_negative_stride) {
  EXPECT_EQ(classify({loop(number(50), {access(number(1'000'000, {-4096}), number(512))})}).spatial,
            SpatialPattern::kNegativeStride);
}

TEST(AccessClass, repeated_stride_is_repeating_fixed_stride) {
  const AccessClass found =
      classify({loop(number(3), {loop(number(50), {access(number(0, {0, 4096}), number(512))})})});
  EXPECT_EQ(found.spatial, SpatialPattern::kFixedStride);
  EXPECT_EQ(found.repetition, Repetition::kRepeating);
  EXPECT_EQ(found.reuse_distance, 50U);
}

TEST(AccessClass, three_steps_are_a_3_d_stride) {
  const AccessClass found = classify({loop(
      number(4),
      {loop(number(4), {loop(number(4), {access(number(0, {10'000, 1000, 100}), number(8))})})})});
  EXPECT_EQ(found.spatial, SpatialPattern::kMultiStride);
  EXPECT_EQ(found.dimensions, 3U);
}

TEST(AccessClass, several_items_in_a_loop_are_nested) {
  EXPECT_EQ(classify({loop(number(50), {access(number(0, {4096}), number(512)),
                                        access(number(1'000'000, {100}), number(8))})})
                .spatial,
            SpatialPattern::kNested);
}

TEST(AccessClass, stride_and_as_many_random_accesses_are_mixed) {
  std::mt19937_64 random(2);
  std::vector<Access> accesses;
  for (std::uint64_t i = 0; i < 100; ++i)
    accesses.push_back({i * 4096, 512});
  for (int i = 0; i < 100; ++i)
    accesses.push_back({random() % 1'000'000, 512});
  EXPECT_EQ(classify(accesses).spatial, SpatialPattern::kMixed);
}

TEST(AccessClass, ordered_and_unordered_accesses_without_a_rule_differ) {
  std::mt19937_64 random(3);
  std::vector<Access> ordered;
  std::vector<Access> unordered;
  for (std::uint64_t i = 0; i < 200; ++i) {
    ordered.push_back({i * 10'000 + random() % 10'000, 512});
    unordered.push_back({random() % 1'000'000, 512});
  }
  EXPECT_EQ(classify(ordered).spatial, SpatialPattern::kVariable);
  EXPECT_EQ(classify(unordered).spatial, SpatialPattern::kRandom);
}

TEST(AccessClass, mean_size_decides_between_small_medium_and_large) {
  EXPECT_EQ(classify(std::vector<Access>{{0, 64_KiB - 1}}).size, SizeClass::kSmall);
  EXPECT_EQ(classify(std::vector<Access>{{0, 64_KiB}}).size, SizeClass::kMedium);
  EXPECT_EQ(classify(std::vector<Access>{{0, 1_MiB}}).size, SizeClass::kLarge);
}

template <class NextInterval>
IntervalPattern interval_class(const NextInterval& next_interval) {
  std::vector<Access> accesses;
  std::int64_t now = 5'000'000'000;
  for (std::uint64_t i = 0; i < 200; ++i) {
    accesses.push_back({i * 4096, 1024, now});
    now += next_interval(static_cast<std::int64_t>(i));
  }
  return classify(accesses).interval;
}

TEST(AccessClass, intervals_decide_the_temporal_pattern) {
  std::mt19937_64 random(4);
  std::exponential_distribution<double> pause(1e-6);
  EXPECT_EQ(interval_class([](std::int64_t) { return 0; }), IntervalPattern::kUnknown);
  EXPECT_EQ(interval_class([](std::int64_t i) { return 10'000 + i % 7 * 100; }),
            IntervalPattern::kFixed);
  EXPECT_EQ(interval_class([](std::int64_t i) { return 10'000 + i * 100; }),
            IntervalPattern::kDrifting);
  EXPECT_EQ(interval_class([](std::int64_t i) { return i % 20 == 0 ? 1'000'000 : 1000; }),
            IntervalPattern::kBursty);
  EXPECT_EQ(interval_class([&](std::int64_t) { return std::llround(pause(random)); }),
            IntervalPattern::kRandom);
}

// Multiples of the numbers of buckets of a hash table, whose chains would have 85,000 offsets.
TEST(AccessClass, offsets_that_collide_in_a_hash_table_take_little_time) {
  std::vector<Access> accesses;
  for (std::uint64_t i = 0; i < 120'000; ++i)
    accesses.push_back({(i * 7919 % 120'000) * 172'933, 1});
  const auto begin = std::chrono::steady_clock::now();
  const Signature unknown{.items = {ListItem{{{0, 1}}}}};
  EXPECT_EQ(classify(std::span<const Access>(accesses), unknown).repetition, Repetition::kSingle);
  std::vector<Item> items{ListItem{}};
  for (const Access& access : accesses)
    std::get<ListItem>(items[0]).accesses.push_back({access.offset, access.size});
  repeat_lists(items);
  EXPECT_EQ(items.size(), 1U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(AccessClass, empty_stream_is_contiguous_and_of_unknown_interval) {
  EXPECT_EQ(to_text(classify(std::vector<Access>())),
            "contiguous; fixed small requests; single; unknown interval; read");
}

}  // namespace
}  // namespace forebay::trace
