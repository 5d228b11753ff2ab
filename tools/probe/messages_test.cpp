// SPDX-License-Identifier: Apache-2.0
// Lines of JSON stay one line and stay JSON, whatever is in them.
#include "tools/probe/messages.hpp"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace forebay::probe {
namespace {

using nlohmann::json;

TEST(ErrorLine, is_one_line_with_all_parts) {
  const std::string line = error_line(system_error(
      {.operation = "read", .path = "/a\nb\xff", .offset_bytes = 7, .cause = "half"}, EIO));
  EXPECT_THAT(line, testing::Not(testing::HasSubstr("\n")));
  const json error = json::parse(line).at("error");
  EXPECT_EQ(error.at("class"), "io");
  EXPECT_EQ(error.at("operation"), "read");
  EXPECT_EQ(error.at("offset"), 7);
  EXPECT_EQ(error.at("errno"), EIO);
  EXPECT_FALSE(error.at("message").get<std::string>().empty());
  EXPECT_EQ(error.size(), 6U);
}

TEST(ErrorLine, offset_is_null_where_there_is_none) {
  const Error error({.kind = ErrorClass::kLimit, .operation = "x"});
  EXPECT_TRUE(json::parse(error_line(error)).at("error").at("offset").is_null());
}

TEST(ErrorLine, wrong_usage_has_a_class_of_its_own) {
  const json error = json::parse(usage_error_line("what is --fast?")).at("error");
  EXPECT_EQ(error.at("class"), "usage");
  EXPECT_EQ(error.at("message"), "what is --fast?");
}

std::vector<json> told_by(Telling telling, const std::vector<Step>& steps) {
  testing::internal::CaptureStderr();
  Progress progress(telling);
  for (const Step& step : steps)
    progress.report(step);
  std::istringstream lines(testing::internal::GetCapturedStderr());
  std::vector<json> told;
  for (std::string line; std::getline(lines, line);)
    told.push_back(json::parse(line));
  return told;
}

TEST(Progress, first_and_last_step_are_told_and_a_flood_between_is_not) {
  std::vector<Step> steps;
  for (std::uint64_t i = 0; i <= 1000; ++i)
    steps.push_back({i, 1000, "runs", "a"});
  const auto told = told_by(Telling::kTell, steps);
  ASSERT_GE(told.size(), 2U);
  EXPECT_LT(told.size(), 500U);
  EXPECT_EQ(told.front(),
            json({{"progress", 0}, {"total", 1000}, {"unit", "runs"}, {"what", "a"}}));
  EXPECT_EQ(told.back().at("progress"), 1000);
}

TEST(Progress, silence_is_silent) {
  EXPECT_THAT(told_by(Telling::kSilent, {{1, 1, "runs", "a"}}), testing::IsEmpty());
}

}  // namespace
}  // namespace forebay::probe
