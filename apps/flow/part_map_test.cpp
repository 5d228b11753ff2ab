// SPDX-License-Identifier: Apache-2.0
#include "flow/part_map.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

void expect_each_part_once(const PartMap& map) {
  std::uint32_t count = 0;
  for (std::uint32_t rank = 0; rank < map.rank_count(); ++rank) {
    EXPECT_TRUE(std::ranges::is_sorted(map.parts_of(rank)));
    for (const std::uint32_t part : map.parts_of(rank))
      EXPECT_EQ(map.rank_of(part), rank);
    count += static_cast<std::uint32_t>(map.parts_of(rank).size());
  }
  EXPECT_EQ(count, map.part_count());
}

TEST(PartMap, every_map_assigns_each_part_to_one_rank) {
  for (const std::uint32_t parts : {1U, 2U, 7U, 40U}) {
    for (const std::uint32_t ranks : {1U, 2U, 3U, 5U, 50U}) {
      for (const PartMap& map : testing::make_all_maps(parts, ranks)) {
        EXPECT_EQ(map.rank_count(), ranks);
        EXPECT_EQ(map.part_count(), parts);
        expect_each_part_once(map);
      }
    }
  }
}

TEST(PartMap, block_map_is_even_and_random_map_is_not) {
  const PartMap blocks = make_block_map(17, 5);
  for (std::uint32_t rank = 0; rank < 5; ++rank)
    EXPECT_EQ(blocks.parts_of(rank).size(), rank < 2 ? 4U : 3U);
  const PartMap drawn = make_random_map(100, 5, 1);
  EXPECT_GT(drawn.parts_of(0).size(), 3 * drawn.parts_of(4).size());
}

TEST(PartMap, names_are_parsed_and_unknown_names_rejected) {
  EXPECT_EQ(parse_part_map("blocks", 9, 2)->rank_of(4), 0U);
  EXPECT_EQ(parse_part_map("round-robin", 9, 2)->rank_of(3), 1U);
  EXPECT_EQ(parse_part_map("random:7", 9, 2)->rank_of(8), make_random_map(9, 2, 7).rank_of(8));
  for (const char* const name : {"", "block", "random", "random:", "random:x", "random:1x"})
    EXPECT_FALSE(parse_part_map(name, 9, 2)) << name;
}

}  // namespace
}  // namespace forebay::flow
