// SPDX-License-Identifier: Apache-2.0
// Number of cores of a node: shared cores count once.
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

CoreSet share_of(const std::vector<int>& allowed) { return core_set_of(machine(), allowed); }

TEST(Cores, hardware_threads_of_a_core_count_once) {
  EXPECT_EQ(share_of({0, 4}).cores, 1U);
  EXPECT_EQ(share_of({0, 1, 2, 3, 4, 5, 6, 7}).cores, 4U);
  EXPECT_EQ(share_of({}).cores, 0U);
}

TEST(Cores, cores_shared_by_all_ranks_count_once) {
  const std::array shared{share_of({0, 1, 2}), share_of({4, 5, 6}), share_of({0, 1, 2})};
  EXPECT_EQ(total_cores(shared), 3U);
}

TEST(Cores, cores_of_bound_ranks_are_added) {
  const std::array bound{share_of({0}), share_of({1}), share_of({2, 3})};
  EXPECT_EQ(total_cores(bound), 4U);
}

TEST(Cores, total_is_unknown_if_one_rank_is_unknown) {
  const std::array some{share_of({0}), CoreSet{}};
  EXPECT_EQ(total_cores(some), 0U);
}

TEST(Cores, first_rank_receives_the_count_of_each_node) {
  const auto here = core_set_of(machine_processors(), initial_affinity());
  const Status ran =
      comm::run_ranks({.count = 3, .per_node = 2}, [&](const comm::CommunicatorPtr& ranks) {
        const auto cores = count_node_cores(*ranks);
        EXPECT_TRUE(cores);
        const bool is_first = ranks->rank() == comm::Rank{0};
        using Counts = std::vector<std::uint32_t>;
        EXPECT_EQ(cores.value_or(Counts{77}),
                  is_first ? (Counts{here.cores, here.cores}) : Counts());
        return Status();
      });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace forebay
