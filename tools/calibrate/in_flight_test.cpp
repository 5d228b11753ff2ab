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
  const TemporaryFolder folder;
  std::vector<probe::Step> steps;
  const auto found = observe_in_flight(folder.path(), kSmall,
                                       [&](const probe::Step& step) { steps.push_back(step); });
  ASSERT_TRUE(found) << found.error().message();
  ASSERT_EQ(found->points.size(), 2U);
  for (const InFlightPoint& point : found->points) {
    ASSERT_EQ(point.bytes_per_second.size(), 2U);
    EXPECT_GT(point.bytes_per_second[0], 0);
  }
  EXPECT_LT(found->choice.place, 2U);
  EXPECT_EQ(found->request_bytes, 4_MiB);
  EXPECT_FALSE(found->backend.empty());
  EXPECT_TRUE(found->access_reason.starts_with(name_of(found->access))) << found->access_reason;
  ASSERT_EQ(steps.size(), 1 + 2 + 2 * 2 + 1U);
  EXPECT_EQ(steps.back().done, steps.back().total);
}

TEST(InFlight, a_file_in_memory_is_written_as_streams_write_it) {
  const TemporaryFolder folder("/dev/shm");
  const auto found = observe_in_flight(folder.path(), kSmall, {});
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_EQ(found->access, Access::kBuffered);
}

TEST(InFlight, a_folder_that_cannot_be_written_to_is_an_error) {
  EXPECT_FALSE(observe_in_flight("/no/such/folder", kSmall, {}));
}

}  // namespace
}  // namespace forebay::calibrate
