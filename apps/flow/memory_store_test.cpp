// SPDX-License-Identifier: Apache-2.0
#include "flow/memory_store.hpp"

#include <gtest/gtest.h>

#include "flow/store_suite_testing.hpp"
#include "flow/testing.hpp"

namespace forebay::flow {
namespace {

TEST(MemoryStore, keeps_what_every_store_must) {
  for (const std::uint32_t ranks : {1U, 2U, 5U}) {
    MemoryShelf shelf;
    run_as_threads(ranks, [&](Team& team) {
      const auto store = make_memory_store(shelf, team);
      testing::expect_steps_are_kept(*store, team);
      const auto again = make_memory_store(shelf, team);
      testing::expect_steps_are_there(*again);
      testing::expect_it_goes_on(*again, team);
    });
  }
}

}  // namespace
}  // namespace forebay::flow
