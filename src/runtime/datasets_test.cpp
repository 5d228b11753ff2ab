// SPDX-License-Identifier: Apache-2.0
// Datasets of one process, and of threads that play ranks on one node or several.
#include <vector>

#include <gtest/gtest.h>

#include "runtime/dataset_testing.hpp"

namespace forebay {
namespace {

std::vector<comm::Make> dataset_makes() {
  std::vector<comm::Make> all;
  for (const std::uint32_t count : {1, 2, 3, 7})
    all.push_back(comm::threads_make({.count = count}));
  all.push_back(comm::threads_make({.count = 5, .per_node = 2}));
  return all;
}

INSTANTIATE_TEST_SUITE_P(Threads,
                         DatasetSuite,
                         testing::ValuesIn(dataset_makes()),
                         comm::make_name);

}  // namespace
}  // namespace forebay
