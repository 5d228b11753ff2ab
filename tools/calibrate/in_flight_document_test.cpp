// SPDX-License-Identifier: Apache-2.0
#include "tools/calibrate/in_flight_document.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/testing.hpp"
#include "stream/in_flight_limit.hpp"

namespace forebay::calibrate {
namespace {

const InFlightFindings kFound{.access = Access::kDirect,
                              .access_reason = "direct: a test",
                              .backend = "io_uring",
                              .request_bytes = 4_MiB,
                              .points = {{4_MiB, {5e8, 4e8, 6e8}},
                                         {16_MiB, {9.9e8, 9.7e8, 9.9e8}},
                                         {64_MiB, {1e9, 1e9, 1e9}}},
                              .choice = {.index = 1, .shares = {0.5, 0.99, 1}}};

TEST(InFlightDocument, source_is_a_sentence_with_the_numbers) {
  EXPECT_EQ(
      source_of(kFound, "measured on a day"),
      "measured on a day: 4 requests of 4 MiB, direct, were the fewest within 2 % of the best "
      "(990 MB/s, median of 3)");
}

TEST(InFlightDocument, time_of_a_request_follows_from_rate_and_number) {
  const nlohmann::json document = to_json(kFound);
  EXPECT_EQ(document["rounds"], 3);
  EXPECT_EQ(document["chosen"], 1);
  EXPECT_EQ(document["points"][0]["share"], 0.5);
  const auto& point = document["points"][2];
  EXPECT_DOUBLE_EQ(point["bytes_per_second"], 1e9);
  EXPECT_DOUBLE_EQ(point["request_s"], static_cast<double>(64_MiB) / 1e9);
  EXPECT_DOUBLE_EQ(document["points"][0]["low"], 4e8);
}

// No measurement here: it would block signals in this process. Tests of the command line run all of
// tools/calibrate.
TEST(InFlightDocument, wrong_profile_fails_before_the_measurement) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "profile.toml") << "format = 9\n";
  const auto document = calibrate_in_flight(
      {.directory = directory.path(), .profile = directory / "profile.toml"}, {});
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_EQ(document.error().path(), directory / "profile.toml");
}

TEST(InFlightDocument, missing_directory_fails) {
  const TemporaryDirectory directory;
  const auto document =
      calibrate_in_flight({.directory = directory / "none", .profile = directory / "p.toml"}, {});
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().kind(), ErrorClass::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(directory / "p.toml"));
}

}  // namespace
}  // namespace forebay::calibrate
