// SPDX-License-Identifier: Apache-2.0
// I/O ranks that are threads: on one node, and on several.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/testing.hpp"

namespace forebay {
namespace {

std::vector<comm::CommunicatorFactory> dedicated_rank_factories() {
  std::vector<comm::CommunicatorFactory> made;
  for (const std::uint32_t count : {1, 2, 3, 4, 7})
    made.push_back(comm::thread_factory({.count = count}));
  // Only the last node has one rank, or each node has.
  for (const std::uint32_t per_node : {1, 2, 3})
    made.push_back(comm::thread_factory({.count = 7, .per_node = per_node}));
  return made;
}

INSTANTIATE_TEST_SUITE_P(Threads,
                         DedicatedSuite,
                         testing::ValuesIn(dedicated_rank_factories()),
                         comm::factory_name);

}  // namespace
}  // namespace forebay
