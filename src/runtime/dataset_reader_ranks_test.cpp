// SPDX-License-Identifier: Apache-2.0
// Datasets read by ranks as threads, on one node and on several.
#include <vector>

#include <gtest/gtest.h>

#include "runtime/dataset_reader_testing.hpp"

namespace forebay {
namespace {

std::vector<comm::CommunicatorFactory> reader_rank_factories() {
  std::vector<comm::CommunicatorFactory> factories;
  for (const std::uint32_t count : {1, 2, 3, 5})
    factories.push_back(comm::thread_factory({.count = count}));
  factories.push_back(comm::thread_factory({.count = 4, .per_node = 2}));
  return factories;
}

INSTANTIATE_TEST_SUITE_P(Threads,
                         DatasetReaderRanksSuite,
                         testing::ValuesIn(reader_rank_factories()),
                         comm::factory_name);

}  // namespace
}  // namespace forebay
