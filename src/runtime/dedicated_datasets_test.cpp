// SPDX-License-Identifier: Apache-2.0
// Datasets written by threads that play ranks given to I/O: one on each node that has two ranks.
#include <vector>

#include <gtest/gtest.h>

#include "runtime/dataset_testing.hpp"

namespace forebay {
namespace {

std::vector<comm::Make> dedicated_datasets_makes() {
  std::vector<comm::Make> all;
  for (const std::uint32_t count : {1, 3, 5, 7})
    all.push_back(comm::threads_make({.count = count}));
  all.push_back(comm::threads_make({.count = 3, .per_node = 2}));  // one node has none
  all.push_back(comm::threads_make({.count = 5, .per_node = 3}));
  all.push_back(comm::threads_make({.count = 7, .per_node = 3}));
  return all;
}

INSTANTIATE_TEST_SUITE_P(Threads,
                         DedicatedDatasets,
                         testing::ValuesIn(dedicated_datasets_makes()),
                         comm::make_name);

}  // namespace
}  // namespace forebay
