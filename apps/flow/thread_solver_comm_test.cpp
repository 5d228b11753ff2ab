// SPDX-License-Identifier: Apache-2.0
// The communicators of the test program without MPI.
#include <atomic>
#include <new>

#include <gtest/gtest.h>

#include "flow/dataset_store.hpp"
#include "flow/directory_store.hpp"
#include "flow/testing.hpp"

namespace forebay::flow::testing {

void for_each_comm(const std::function<void(SolverComm&)>& work) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 5U})
    run_thread_ranks(ranks, work);
}

void for_each_dataset_comm(const std::function<void(SolverComm&, const StoreOpener&)>& work) {
  run_thread_ranks(1, [&](SolverComm& comm) {
    Runtime runtime;
    work(comm, dataset_opener(runtime));
  });
}

void for_each_store(const std::function<void(SolverComm&, const StoreOpener&)>& work) {
  for_each_comm([&](SolverComm& comm) { work(comm, open_directory_store); });
  for_each_dataset_comm(work);
}

}  // namespace forebay::flow::testing

namespace forebay::flow {
namespace {

TEST(ThreadSolverComm, exception_of_one_rank_ends_all_and_is_rethrown) {
  for (const std::uint32_t failing : {0U, 2U}) {
    std::atomic<int> left = 0;
    const auto work = [&](SolverComm& comm) {
      if (comm.rank() == failing) throw std::bad_alloc();
      comm.allgather(comm.rank());
      ++left;
    };
    EXPECT_THROW(run_thread_ranks(3, work), std::bad_alloc);
    EXPECT_EQ(left, 0);
  }
}

}  // namespace
}  // namespace forebay::flow
