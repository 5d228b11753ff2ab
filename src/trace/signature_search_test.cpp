// SPDX-License-Identifier: Apache-2.0
#include "trace/signature_search.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "trace/item_testing.hpp"
#include "trace/loop_rewriting.hpp"
#include "trace/signature_testing.hpp"

namespace forebay::trace {
namespace {

using testing::access;
using testing::accesses_of;
using testing::loop;
using testing::number;

Signature search(const std::vector<Access>& accesses) {
  const Result<Signature> found = signature_of(accesses, Operation::kRead);
  EXPECT_TRUE(found.has_value()) << found.error().message();
  if (!found) return {};
  EXPECT_TRUE(check_signature(*found).has_value());
  const std::vector<Access> reproduced = accesses_of(*found);
  EXPECT_TRUE(std::ranges::equal(reproduced, accesses, [](const Access& a, const Access& b) {
    return a.offset == b.offset && a.size == b.size;
  }));
  return *found;
}

std::vector<Item> search(const std::vector<Item>& items) {
  return search(accesses_of({.items = items})).items;
}

TEST(SignatureSearch, empty_stream_fails) {
  const Result<Signature> found = signature_of({}, Operation::kRead);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_EQ(explained_share({}), 0);
}

TEST(SignatureSearch, lu_is_found_from_its_first_repetition) {
  const std::vector<Item> items{
      loop(number(126),
           {access(number(1049088, {524544}), number(524544)),
            loop(number(2, {1}), {access(number(0, {0, 524544}), number(522368, {0, -4096}))})})};
  EXPECT_EQ(search(items), items);
}

TEST(SignatureSearch, inner_counts_from_0_are_found) {
  const std::vector<Item> items{
      loop(number(20), {access(number(1'000'000, {100}), number(8)),
                        loop(number(0, {1}), {access(number(0, {0, 500}), number(16))})})};
  EXPECT_EQ(search(items), items);
}

TEST(SignatureSearch, inner_counts_down_to_0_are_found) {
  const std::vector<Item> items{
      loop(number(20), {access(number(1'000'000, {100}), number(8)),
                        loop(number(19, {-1}), {access(number(0, {0, 500}), number(16))})})};
  EXPECT_EQ(search(items), items);
}

TEST(SignatureSearch, inner_counts_from_0_inside_an_outer_loop_are_found) {
  const std::vector<Item> items{loop(
      number(9), {loop(number(20), {access(number(1'000'000, {7777, 100}), number(8)),
                                    loop(number(0, {0, 1}),
                                         {access(number(0, {50'000, 0, 500}), number(16))})})})};
  EXPECT_EQ(search(items), items);
}

TEST(SignatureSearch, pairs_become_inner_loops) {
  const std::vector<Item> items{
      loop(number(100), {loop(number(2), {access(number(0, {16384, 4096}), number(1024))})})};
  EXPECT_EQ(search(items), items);
}

TEST(SignatureSearch, pairs_of_pairs_become_two_inner_loops) {
  const std::vector<Item> items{loop(
      number(50),
      {loop(number(2), {loop(number(2), {access(number(7, {100'000, 9000, 4096}), number(1024))})}),
       access(number(5, {300'000}), number(8))})};
  EXPECT_EQ(search(items), items);
}

TEST(SignatureSearch, two_repetitions_of_loops_become_a_loop) {
  const std::vector<Item> items{
      loop(number(2), {access(number(100, {1'000'000}), number(8)),
                       loop(number(50), {access(number(5000, {1'000'000, 1000}), number(512))})})};
  EXPECT_EQ(search(items), items);
}

TEST(SignatureSearch, single_accesses_between_loops_become_lists) {
  const std::vector<Item> items{
      access(number(3), number(5)),
      loop(number(50), {access(number(100'000, {10'000}), number(512))}),
      ListItem{{{17, 4}, {99, 4}, {3, 8}}},
      loop(number(60), {access(number(0, {10'000}), number(100))}),
  };
  EXPECT_EQ(search(items), items);
  EXPECT_NEAR(explained_share({.items = items}), 110.0 / 114, 1e-12);
}

TEST(SignatureSearch, small_loop_stays_if_it_explains_most) {
  const std::vector<Item> items{access(number(7), number(5)),
                                loop(number(5), {access(number(100'000, {10'000}), number(512))})};
  EXPECT_EQ(search(items), items);
}

ListItem random_list(std::size_t count, std::uint64_t seed) {
  ListItem list;
  for (std::size_t cell = 0; cell < count; ++cell)
    list.accesses.push_back({cell * 262144, 1024});
  std::ranges::shuffle(list.accesses, std::mt19937_64(seed));
  return list;
}

TEST(SignatureSearch, permutation_in_two_epochs_becomes_a_repeated_list) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::vector<Item> items{loop(number(2), {random_list(200, seed)})};
    EXPECT_EQ(search(items), items);
  }
}

TEST(SignatureSearch, repeated_list_is_found_behind_other_accesses) {
  const ListItem list = random_list(200, 1);
  ListItem before = random_list(30, 2);
  for (ByteRange& range : before.accesses)
    range.offset += 77;
  const std::vector<Item> items{before, loop(number(3), {list})};
  EXPECT_EQ(search(items), items);
}

TEST(SignatureSearch, random_stream_becomes_one_list) {
  const std::vector<Item> items{random_list(100'000, 3)};
  EXPECT_LE(search(items).size(), 3U);
}

TEST(SignatureSearch, stream_with_too_many_loops_is_listed) {
  std::mt19937_64 random(5);
  std::vector<Item> items;
  for (int i = 0; i < 5000; ++i)
    items.push_back(loop(
        number(10 + static_cast<std::int64_t>(random() % 5)),
        {access(number(static_cast<std::int64_t>(random() % 1'000'000), {4096}), number(100))}));
  const std::vector<Item> found = search(items);
  EXPECT_LE(item_count(found), kItemsMax);
}

TEST(SignatureSearch, offset_beyond_the_limit_fails) {
  const std::vector<Access> accesses{{.offset = std::uint64_t{1} << 63U, .size = 1}};
  const Result<Signature> found = signature_of(accesses, Operation::kRead);
  ASSERT_FALSE(found.has_value());
  EXPECT_EQ(found.error().kind(), ErrorClass::kLimit);
}

TEST(SignatureSearch, regular_intervals_become_one_interval) {
  std::vector<Access> accesses;
  for (std::uint64_t i = 0; i < 100; ++i)
    accesses.push_back({i * 4096, 1024, static_cast<std::int64_t>(i * 1000 + i % 3 * 20)});
  const Signature found = search(accesses);
  ASSERT_EQ(found.items.size(), 1U);
  const auto& item = std::get<AccessItem>(std::get<LoopItem>(found.items[0]).items[0]);
  EXPECT_EQ(item.interval_ns, number(1000));
  accesses[50].begin_ns += 150;
  const Signature irregular = search(accesses);
  EXPECT_EQ(std::get<AccessItem>(std::get<LoopItem>(irregular.items[0]).items[0]).interval_ns,
            std::nullopt);
}

TEST(SignatureSearch, random_signatures_are_reproduced_exactly) {
  RandomSignatures random(1, {.depth_max = 4, .count_max = 6, .count_factor_min = -1});
  std::size_t given = 0;
  std::size_t found = 0;
  for (int round = 0; round < 2000; ++round) {
    SCOPED_TRACE(round);
    const Signature signature = random.next();
    if (!check_signature(signature)) continue;
    const std::uint64_t count = access_count(signature).value_or(0);
    if (count == 0 || count > 20'000) continue;
    given += item_count(signature.items);
    found += item_count(search(signature.items));
  }
  EXPECT_GT(given, 5000U);
  EXPECT_LT(found, given + given / 2);
}

}  // namespace
}  // namespace forebay::trace
