// SPDX-License-Identifier: Apache-2.0
#include "restore/piece_cache.hpp"

#include <optional>

#include <gtest/gtest.h>

namespace forebay::restore {
namespace {

PieceCache::Bytes bytes_of(int value) {
  auto bytes = std::make_unique<std::byte[]>(1);
  bytes[0] = static_cast<std::byte>(value);
  return bytes;
}

void add(PieceCache& cache, PieceKey key, int value) {
  PieceCache::Loading(cache, key).finish(bytes_of(value));
}

TEST(PieceCache, has_a_piece_after_its_load) {
  PieceCache cache;
  EXPECT_EQ(cache.find({1, 0, 0}), nullptr) << "empty entries are no piece at offset 0";
  add(cache, {1, 0, 0}, 7);
  ASSERT_NE(cache.find({1, 0, 0}), nullptr);
  EXPECT_EQ(cache.find({1, 0, 0})[0], std::byte{7});
  EXPECT_EQ(cache.find({1, 1, 0}), nullptr) << "another file";
  EXPECT_EQ(cache.find({1, 0, 4096}), nullptr);
  EXPECT_EQ(cache.find({2, 0, 0}), nullptr) << "another step";
}

TEST(PieceCache, drops_the_piece_that_was_not_used_for_longest) {
  PieceCache cache;
  for (int i = 0; i < 4; ++i)
    add(cache, {1, 0, static_cast<std::uint64_t>(i)}, i);
  ASSERT_NE(cache.find({1, 0, 0}), nullptr);
  add(cache, {1, 0, 4}, 4);
  EXPECT_NE(cache.find({1, 0, 0}), nullptr);
  EXPECT_EQ(cache.find({1, 0, 1}), nullptr);
  EXPECT_NE(cache.find({1, 0, 2}), nullptr);
  EXPECT_NE(cache.find({1, 0, 4}), nullptr);
}

TEST(PieceCache, second_load_of_a_piece_takes_no_further_entry) {
  PieceCache cache;
  for (int i = 0; i < 4; ++i)
    add(cache, {1, 0, static_cast<std::uint64_t>(i)}, i);
  add(cache, {1, 0, 2}, 2);
  for (std::uint64_t i = 0; i < 4; ++i)
    EXPECT_NE(cache.find({1, 0, i}), nullptr) << i;
}

TEST(PieceCache, bytes_outlive_their_entry) {
  PieceCache cache;
  add(cache, {1, 0, 0}, 9);
  const auto held = cache.find({1, 0, 0});
  for (std::uint64_t i = 1; i <= PieceCache::kPiecesMax; ++i)
    add(cache, {1, 0, i}, 0);
  EXPECT_EQ(cache.find({1, 0, 0}), nullptr);
  EXPECT_EQ(held[0], std::byte{9});
}

TEST(PieceCache, piece_is_loading_until_every_load_has_ended) {
  PieceCache cache;
  std::optional<PieceCache::Loading> one(std::in_place, cache, PieceKey{1, 0, 0});
  std::optional<PieceCache::Loading> other(std::in_place, cache, PieceKey{1, 0, 0});
  EXPECT_TRUE(cache.is_loading({1, 0, 0}));
  EXPECT_FALSE(cache.is_loading({1, 0, 1}));
  const PieceCache::Loading moved(std::move(*one));
  one.reset();
  other.reset();
  EXPECT_TRUE(cache.is_loading({1, 0, 0}));
}

}  // namespace
}  // namespace forebay::restore
