// SPDX-License-Identifier: Apache-2.0
#include "trace/loop_recognizer.hpp"

#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "trace/item_testing.hpp"

namespace forebay::trace {
namespace {

using testing::access;
using testing::accesses_of;
using testing::loop;
using testing::number;

std::vector<Item> recognize(const Signature& signature) {
  LoopRecognizer recognizer;
  for (const Access& access : accesses_of(signature))
    recognizer.observe(access.offset, access.size);
  return recognizer.items();
}

TEST(LoopRecognizer, two_accesses_stay_accesses) {
  const std::vector<Item> items{access(number(0), number(8)), access(number(8), number(8))};
  EXPECT_EQ(recognize({.items = items}), items);
}

TEST(LoopRecognizer, stride_becomes_a_loop) {
  const std::vector<Item> items{loop(number(200), {access(number(7, {4096}), number(1024))})};
  EXPECT_EQ(recognize({.items = items}), items);
}

TEST(LoopRecognizer, negative_stride_and_changing_size_become_a_loop) {
  const std::vector<Item> items{
      loop(number(100), {access(number(1'000'000, {-5000}), number(1000, {-10}))})};
  EXPECT_EQ(recognize({.items = items}), items);
}

TEST(LoopRecognizer, three_nested_loops_become_three_nested_loops) {
  const std::vector<Item> items{loop(
      number(3),
      {loop(number(26),
            {loop(number(25), {access(number(5, {1'000'000, 41'000, 4000}), number(1040))})})})};
  EXPECT_EQ(recognize({.items = items}), items);
}

TEST(LoopRecognizer, body_of_several_items_becomes_one_loop) {
  const std::vector<Item> items{
      loop(number(50), {access(number(0, {65536}), number(512)),
                        loop(number(7), {access(number(4096, {65536, 300}), number(100))})})};
  EXPECT_EQ(recognize({.items = items}), items);
}

TEST(LoopRecognizer, inner_counts_that_grow_become_affine) {
  // LU without its first repetition, whose inner loop of 2 stays two accesses.
  const std::vector<Item> items{
      loop(number(125),
           {access(number(1573632, {524544}), number(524544)),
            loop(number(3, {1}), {access(number(0, {0, 524544}), number(522368, {0, -4096}))})})};
  EXPECT_EQ(recognize({.items = items}), items);
}

TEST(LoopRecognizer, ten_nested_loops_stop_at_the_limit_of_depth) {
  LoopRecognizer recognizer;
  for (std::uint64_t index = 0; index < 59049; ++index) {
    std::uint64_t offset = 0;
    std::uint64_t weight = 1;
    for (std::uint64_t digits = index; digits > 0; digits /= 3, weight *= 10)
      offset += digits % 3 * weight;
    recognizer.observe(offset, 1);
  }
  EXPECT_EQ(recognizer.size(), 9U);
  const std::vector<Access> accesses = accesses_of({.items = recognizer.items()});
  ASSERT_EQ(accesses.size(), 59049U);
  EXPECT_EQ(accesses.back().offset, 2'222'222'222U);
}

TEST(LoopRecognizer, values_at_the_ends_of_the_range_do_not_overflow) {
  LoopRecognizer recognizer;
  const std::vector<std::uint64_t> offsets{
      INT64_MAX, 0, INT64_MAX, 0, INT64_MAX, INT64_MAX - 1, INT64_MAX - 2, INT64_MAX, 1};
  for (const std::uint64_t offset : offsets)
    recognizer.observe(offset, 0);
  std::vector<std::uint64_t> found;
  for (const Access& access : accesses_of({.items = recognizer.items()}))
    found.push_back(access.offset);
  EXPECT_EQ(found, offsets);
}

TEST(LoopRecognizer, oldest_items_are_taken_in_order) {
  LoopRecognizer recognizer;
  for (const std::uint64_t offset : {5U, 77U, 100U, 200U, 300U, 400U})
    recognizer.observe(offset, 8);
  EXPECT_EQ(recognizer.take_oldest(1), std::vector<Item>{access(number(5), number(8))});
  EXPECT_EQ(recognizer.take_oldest(9),
            (std::vector<Item>{access(number(77), number(8)),
                               loop(number(4), {access(number(100, {100}), number(8))})}));
  EXPECT_EQ(recognizer.size(), 0U);
}

TEST(LoopRecognizer, items_of_random_loops_reproduce_the_stream) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; ++round) {
    LoopRecognizer recognizer;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> stream;
    while (stream.size() < 300)
      for (std::uint64_t i = random() % 6, step = random() % 3, at = random() % 4; i > 0; --i)
        stream.emplace_back(at + step * i, 1 + random() % 20 / 19);
    for (const auto& [offset, size] : stream)
      recognizer.observe(offset, size);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
    for (const Access& access : accesses_of({.items = recognizer.items()}))
      found.emplace_back(access.offset, access.size);
    ASSERT_EQ(found, stream);
  }
}

}  // namespace
}  // namespace forebay::trace
