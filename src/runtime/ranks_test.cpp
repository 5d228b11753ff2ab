// SPDX-License-Identifier: Apache-2.0
// A Runtime of one process, and of threads that play ranks.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/testing.hpp"

namespace forebay {
namespace {

std::vector<comm::Make> ranks_makes() {
  std::vector<comm::Make> all;
  for (const std::uint32_t count : {1, 2, 3, 7})
    all.push_back(comm::threads_make({.count = count}));
  return all;
}

INSTANTIATE_TEST_SUITE_P(Threads, RanksSuite, testing::ValuesIn(ranks_makes()), comm::make_name);

TEST(Ranks, what_cannot_be_used_is_told_by_the_first_call) {
  Runtime runtime(Ranks(Error({.kind = ErrorClass::kUnsupported, .operation = "use MPI"})));
  const auto file = runtime.open("any");
  ASSERT_EQ(error_class(file), ErrorClass::kUnsupported);
  EXPECT_EQ(file.error().path(), "any");
}

}  // namespace
}  // namespace forebay
