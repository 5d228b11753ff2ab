// SPDX-License-Identifier: Apache-2.0
// Dedicated ranks that are threads: on one node, and on several.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/testing.hpp"

namespace forebay {
namespace {

std::vector<comm::Make> dedicated_makes() {
  std::vector<comm::Make> made;
  for (const std::uint32_t count : {1, 2, 3, 4, 7})
    made.push_back(comm::threads_make({.count = count}));
  // The last node has one rank only, or each node has.
  for (const std::uint32_t per_node : {1, 2, 3})
    made.push_back(comm::threads_make({.count = 7, .per_node = per_node}));
  return made;
}

INSTANTIATE_TEST_SUITE_P(Threads,
                         DedicatedSuite,
                         testing::ValuesIn(dedicated_makes()),
                         comm::make_name);

}  // namespace
}  // namespace forebay
