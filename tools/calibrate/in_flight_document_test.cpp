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
                              .backend = "ring",
                              .request_bytes = 4_MiB,
                              .points = {{4_MiB, {5e8, 4e8, 6e8}},
                                         {16_MiB, {9.9e8, 9.7e8, 9.9e8}},
                                         {64_MiB, {1e9, 1e9, 1e9}}},
                              .choice = {.place = 1, .shares = {0.5, 0.99, 1}}};

TEST(InFlightDocument, source_is_a_sentence_with_the_numbers_that_count) {
  EXPECT_EQ(source_of(kFound, "measured on a day"),
            "measured on a day: 4 of 4 MiB at a time, direct, was the least within 2 % of the best "
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

// No measurement here: it would block signals in this process. tools/calibrate is run as a whole by
// the tests of the command line.
TEST(InFlightDocument, a_profile_that_is_wrong_is_an_error_before_anything_is_measured) {
  const TemporaryFolder folder;
  std::ofstream(folder / "profile.toml") << "format = 9\n";
  const auto document =
      calibrate_in_flight({.folder = folder.path(), .profile = folder / "profile.toml"}, {});
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().kind(), ErrorClass::kInvalidArgument);
  EXPECT_EQ(document.error().path(), folder / "profile.toml");
}

TEST(InFlightDocument, a_folder_that_is_not_there_is_an_error) {
  const TemporaryFolder folder;
  const auto document =
      calibrate_in_flight({.folder = folder / "none", .profile = folder / "p.toml"}, {});
  ASSERT_FALSE(document);
  EXPECT_EQ(document.error().kind(), ErrorClass::kNotFound);
  EXPECT_FALSE(std::filesystem::exists(folder / "p.toml"));
}

}  // namespace
}  // namespace forebay::calibrate
