// SPDX-License-Identifier: Apache-2.0
// Cores of a node: counted once, whoever shares them.
#include "runtime/cores.hpp"

#include <array>

#include <gtest/gtest.h>

#include "comm/testing.hpp"

namespace forebay {
namespace {

/// Four cores of two hardware threads each.
const std::vector<Processor>& machine() {
  static const std::vector<Processor> processors{{0, 0}, {1, 1}, {2, 2}, {3, 3},
                                                 {4, 0}, {5, 1}, {6, 2}, {7, 3}};
  return processors;
}

CoreShare share_of(const std::vector<int>& allowed) { return core_share(machine(), allowed); }

TEST(Cores, are_counted_and_not_their_hardware_threads) {
  EXPECT_EQ(share_of({0, 4}).cores, 1U);
  EXPECT_EQ(share_of({0, 1, 2, 3, 4, 5, 6, 7}).cores, 4U);
  EXPECT_EQ(share_of({}).cores, 0U);
}

TEST(Cores, that_all_ranks_share_count_once) {
  const std::array all{share_of({0, 1, 2}), share_of({4, 5, 6}), share_of({0, 1, 2})};
  EXPECT_EQ(cores_together(all), 3U);
}

TEST(Cores, to_which_ranks_are_bound_are_added) {
  const std::array bound{share_of({0}), share_of({1}), share_of({2, 3})};
  EXPECT_EQ(cores_together(bound), 4U);
}

TEST(Cores, of_which_one_rank_knows_nothing_are_not_known) {
  const std::array some{share_of({0}), CoreShare{}};
  EXPECT_EQ(cores_together(some), 0U);
}

TEST(Cores, are_told_to_the_first_rank) {
  const auto here = core_share(processors_of_machine(), processors_at_start());
  const Status ran = comm::run_ranks({.count = 3, .per_node = 2}, [&](const comm::Ranks& ranks) {
    const auto cores = cores_of_first_node(*ranks);
    EXPECT_TRUE(cores);
    const bool is_first = ranks->rank() == comm::Rank{0};
    EXPECT_EQ(cores.value_or(77), is_first ? here.cores : 0U);
    return Status();
  });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace forebay
