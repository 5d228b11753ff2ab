// SPDX-License-Identifier: Apache-2.0
#include "flow/memory_store.hpp"

#include <gtest/gtest.h>

#include "flow/store_suite_testing.hpp"
#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

TEST(MemoryStore, fulfills_the_store_contract) {
  for (const std::uint32_t ranks : {1U, 2U, 5U}) {
    MemoryStoreState state;
    run_thread_ranks(ranks, [&](SolverComm& comm) {
      const auto store = make_memory_store(state, comm);
      testing::check_store_contract(*store, comm);
      const auto again = make_memory_store(state, comm);
      testing::expect_contract_steps(*again);
      testing::check_reopened_store(*again, comm);
    });
  }
}

}  // namespace
}  // namespace forebay::flow
