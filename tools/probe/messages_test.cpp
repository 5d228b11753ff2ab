// SPDX-License-Identifier: Apache-2.0
// Lines of JSON stay one line and stay JSON, whatever they contain.
#include "tools/probe/messages.hpp"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "command/cli.hpp"

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

TEST(ErrorLine, missing_offset_is_null) {
  const Error error({.kind = ErrorClass::kLimit, .operation = "x"});
  EXPECT_TRUE(json::parse(error_line(error)).at("error").at("offset").is_null());
}

TEST(ErrorLine, usage_error_has_class_usage) {
  const json error = json::parse(error_line(command::usage_error("what is --fast?"))).at("error");
  EXPECT_EQ(error.at("class"), "usage");
  EXPECT_EQ(error.at("message"), "what is --fast?");
}

std::vector<json> reported_lines(ProgressMode progress_mode,
                                 const std::vector<ProgressStep>& steps) {
  testing::internal::CaptureStderr();
  Progress progress(progress_mode);
  for (const ProgressStep& step : steps)
    progress.report(step);
  std::istringstream lines(testing::internal::GetCapturedStderr());
  std::vector<json> reported;
  for (std::string line; std::getline(lines, line);)
    reported.push_back(json::parse(line));
  return reported;
}

TEST(Progress, first_and_last_step_are_reported_and_frequent_ones_skipped) {
  std::vector<ProgressStep> steps;
  for (std::uint64_t i = 0; i <= 1000; ++i)
    steps.push_back({i, 1000, "runs", "a"});
  const auto reported = reported_lines(ProgressMode::kJsonLines, steps);
  ASSERT_GE(reported.size(), 2U);
  EXPECT_LT(reported.size(), 500U);
  EXPECT_EQ(reported.front(),
            json({{"progress", 0}, {"total", 1000}, {"unit", "runs"}, {"what", "a"}}));
  EXPECT_EQ(reported.back().at("progress"), 1000);
}

TEST(Progress, silent_mode_prints_nothing) {
  EXPECT_THAT(reported_lines(ProgressMode::kSilent, {{1, 1, "runs", "a"}}), testing::IsEmpty());
}

}  // namespace
}  // namespace forebay::probe
