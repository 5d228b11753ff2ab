// SPDX-License-Identifier: Apache-2.0
// The teams of the test program without MPI.
#include <atomic>
#include <new>

#include <gtest/gtest.h>

#include "flow/dataset_store.hpp"
#include "flow/folder_store.hpp"
#include "flow/testing.hpp"

namespace forebay::flow::testing {

void on_each_team(const std::function<void(Team&)>& work) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 5U})
    run_as_threads(ranks, work);
}

void on_dataset_teams(const std::function<void(Team&, const StoreOpener&)>& work) {
  run_as_threads(1, [&](Team& team) {
    Runtime runtime;
    work(team, dataset_opener(runtime));
  });
}

void on_each_store(const std::function<void(Team&, const StoreOpener&)>& work) {
  on_each_team([&](Team& team) { work(team, open_folder_store); });
  on_dataset_teams(work);
}

}  // namespace forebay::flow::testing

namespace forebay::flow {
namespace {

TEST(ThreadTeam, an_exception_of_a_rank_ends_all_and_comes_out) {
  for (const std::uint32_t failing : {0U, 2U}) {
    std::atomic<int> left = 0;
    const auto work = [&](Team& team) {
      if (team.rank() == failing) throw std::bad_alloc();
      team.gather(team.rank());
      ++left;
    };
    EXPECT_THROW(run_as_threads(3, work), std::bad_alloc);
    EXPECT_EQ(left, 0);
  }
}

}  // namespace
}  // namespace forebay::flow
