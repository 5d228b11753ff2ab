// SPDX-License-Identifier: Apache-2.0
// Datasets written by I/O ranks that are threads: one on each node with at least two ranks.
#include <vector>

#include <gtest/gtest.h>

#include "runtime/dataset_testing.hpp"

namespace forebay {
namespace {

std::vector<comm::CommunicatorFactory> dedicated_dataset_rank_factories() {
  std::vector<comm::CommunicatorFactory> factories;
  for (const std::uint32_t count : {1, 3, 5, 7})
    factories.push_back(comm::thread_factory({.count = count}));
  factories.push_back(
      comm::thread_factory({.count = 3, .per_node = 2}));  // one node without I/O rank
  factories.push_back(comm::thread_factory({.count = 5, .per_node = 3}));
  factories.push_back(comm::thread_factory({.count = 7, .per_node = 3}));
  return factories;
}

INSTANTIATE_TEST_SUITE_P(Threads,
                         DedicatedDatasets,
                         testing::ValuesIn(dedicated_dataset_rank_factories()),
                         comm::factory_name);

}  // namespace
}  // namespace forebay
