// SPDX-License-Identifier: Apache-2.0
// Datasets read by threads that play ranks, on one node and on several.
#include <vector>

#include <gtest/gtest.h>

#include "runtime/stored_testing.hpp"

namespace forebay {
namespace {

std::vector<comm::Make> stored_makes() {
  std::vector<comm::Make> all;
  for (const std::uint32_t count : {1, 2, 3, 5})
    all.push_back(comm::threads_make({.count = count}));
  all.push_back(comm::threads_make({.count = 4, .per_node = 2}));
  return all;
}

INSTANTIATE_TEST_SUITE_P(Threads,
                         StoredRanksSuite,
                         testing::ValuesIn(stored_makes()),
                         comm::make_name);

}  // namespace
}  // namespace forebay
