// SPDX-License-Identifier: Apache-2.0
#include "runner/parallel_for.hpp"

#include <gtest/gtest.h>

namespace forebay::runner {
namespace {

TEST(ParallelFor, each_index_runs_once) {
  std::vector<std::atomic<int>> calls(100);
  const Status done = parallel_for(calls.size(), 4, [&](std::uint64_t i, unsigned worker) {
    calls[i] += worker < 4 ? 1 : 100;
    return Status();
  });
  EXPECT_TRUE(done);
  for (const std::atomic<int>& count : calls)
    EXPECT_EQ(count, 1);
}

TEST(ParallelFor, first_error_ends_loop) {
  const Status done = parallel_for(1'000'000'000, 1, [](std::uint64_t i, unsigned) -> Status {
    if (i < 3) return {};
    return failure({.kind = ErrorClass::kDamage});
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorClass::kDamage);
}

TEST(ParallelFor, bad_alloc_returns_limit_error) {
  const Status done =
      parallel_for(8, 2, [](std::uint64_t, unsigned) -> Status { throw std::bad_alloc(); });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind(), ErrorClass::kLimit);
}

}  // namespace
}  // namespace forebay::runner
