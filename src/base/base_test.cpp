// SPDX-License-Identifier: Apache-2.0
// Small parts of base: assertions, checked casts, the clock, and log sinks.
#include <forebay/log.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "base/assert.hpp"
#include "base/checked_cast.hpp"
#include "base/clock.hpp"

namespace forebay {
namespace {

TEST(AssertDeathTest, false_condition_aborts_with_file_and_expression) {
  EXPECT_DEATH(FOREBAY_ASSERT(1 + 1 == 3),
               "forebay: .*base_test.cpp:[0-9]+: assertion failed: 1 \\+ 1 == 3");
}

TEST(AssertDeathTest, known_rank_is_named) {
  const auto fail_as_rank_seven = [] {
    set_assertion_rank(7);
    FOREBAY_ASSERT(false);
  };
  EXPECT_DEATH(fail_as_rank_seven(), "forebay: rank 7: ");
}

TEST(Assert, true_condition_is_evaluated_once) {
  int evaluations = 0;
  FOREBAY_ASSERT(++evaluations == 1);
  EXPECT_EQ(evaluations, 1);
}

TEST(CheckedCast, fitting_value_is_kept) {
  EXPECT_EQ(checked_cast<std::uint8_t>(255), 255);
  EXPECT_EQ(checked_cast<std::int64_t>(std::uint64_t{1} << 62U), std::int64_t{1} << 62U);
  static_assert(checked_cast<int>(std::uint64_t{42}) == 42);
}

TEST(CheckedCastDeathTest, value_that_does_not_fit_aborts) {
  const std::uint64_t block_bytes = std::uint64_t{3} << 30U;
  EXPECT_DEATH(std::ignore = checked_cast<int>(block_bytes), "assertion failed");
  EXPECT_DEATH(std::ignore = checked_cast<std::uint64_t>(-1), "assertion failed");
}

TEST(Clock, steady_clock_does_not_go_back) {
  const Clock& clock = SteadyClock::shared();
  const TimePoint first = clock.now();
  EXPECT_LE(first, clock.now());
}

/// The output of a log to a temporary stream.
std::string log_output(LogLevel lowest, LogLevel level, std::string_view line) {
  std::FILE* const stream = std::tmpfile();
  {
    StreamLog log(stream, lowest);
    log.write(level, line);
  }
  std::rewind(stream);
  std::array<char, 256> text{};
  const std::size_t got = std::fread(text.data(), 1, text.size(), stream);
  std::fclose(stream);
  return {text.data(), got};
}

TEST(Log, stream_log_writes_one_line_with_its_level) {
  EXPECT_EQ(log_output(LogLevel::kInfo, LogLevel::kWarning, "no io_uring"),
            "forebay: warning: no io_uring\n");
}

TEST(Log, lines_below_the_lowest_level_are_dropped) {
  EXPECT_EQ(log_output(LogLevel::kWarning, LogLevel::kInfo, "detail"), "");
  EXPECT_EQ(log_output(LogLevel::kInfo, LogLevel::kInfo, "detail"), "forebay: info: detail\n");
}

TEST(Log, silent_log_writes_nothing) {
  testing::internal::CaptureStderr();
  silent_log().write(LogLevel::kWarning, "a line");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace forebay
