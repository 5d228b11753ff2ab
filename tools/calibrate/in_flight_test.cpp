// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/in_flight.hpp"

#include <vector>

#include <gtest/gtest.h>

#include "storage/testing.hpp"

namespace forebay::calibrate {
namespace {

const InFlightLimits kSmall{
    .in_flight_bytes = {4_MiB, 8_MiB}, .file_bytes = 20_MiB, .seconds_each = 0.01, .rounds = 2};

TEST(InFlight, each_round_has_a_value_for_each_point) {
  const TemporaryDirectory directory;
  std::vector<probe::ProgressStep> steps;
  const auto found = observe_in_flight(
      directory.path(), kSmall, [&](const probe::ProgressStep& step) { steps.push_back(step); });
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->points.size(), 2U);
  for (const InFlightPoint& point : found->points) {
    ASSERT_EQ(point.bytes_per_second.size(), 2U);
    EXPECT_GT(point.bytes_per_second[0], 0);
  }
  EXPECT_LT(found->choice.index, 2U);
  EXPECT_EQ(found->request_bytes, 4_MiB);
  EXPECT_FALSE(found->backend.empty());
  EXPECT_TRUE(found->access_reason.starts_with(name_of(found->access))) << found->access_reason;
  ASSERT_EQ(steps.size(), 1 + 2 + 2 * 2 + 1U);
  EXPECT_EQ(steps.back().done, steps.back().total);
}

TEST(InFlight, file_in_memory_is_written_buffered) {
  const TemporaryDirectory directory("/dev/shm");
  const auto found = observe_in_flight(directory.path(), kSmall, {});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->access, Access::kBuffered);
}

TEST(InFlight, unwritable_directory_fails) {
  EXPECT_FALSE(observe_in_flight("/no/such/directory", kSmall, {}));
}

}  // namespace
}  // namespace forebay::calibrate
