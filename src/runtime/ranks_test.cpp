// SPDX-License-Identifier: Apache-2.0
// A Runtime of one process, and of ranks as threads.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/testing.hpp"

namespace forebay {
namespace {

std::vector<comm::CommunicatorFactory> rank_factories() {
  std::vector<comm::CommunicatorFactory> factories;
  for (const std::uint32_t count : {1, 2, 3, 7})
    factories.push_back(comm::thread_factory({.count = count}));
  return factories;
}

INSTANTIATE_TEST_SUITE_P(Threads,
                         RanksSuite,
                         testing::ValuesIn(rank_factories()),
                         comm::factory_name);

TEST(Ranks, unusable_ranks_are_an_error_of_the_first_call) {
  Runtime runtime(Ranks(Error({.kind = ErrorClass::kUnsupported, .operation = "use MPI"})));
  const auto file = runtime.open_file("any");
  ASSERT_EQ(error_class(file), ErrorClass::kUnsupported);
  EXPECT_EQ(file.error().path(), "any");
}

}  // namespace
}  // namespace forebay
