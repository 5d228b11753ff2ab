// SPDX-License-Identifier: Apache-2.0
// Valid and invalid command lines of forebay-model.
#include "tools/model/arguments.hpp"

#include <gtest/gtest.h>

namespace forebay::model_tool {
namespace {

Result<GainQuery> parse_gain(const std::vector<std::string_view>& words) {
  GainQuery query;
  CLI::App app;
  add_gain(app, query);
  return command::parse(app, words).map([&](const std::string&) { return query; });
}

TEST(ParseGain, takes_every_option) {
  const auto query = parse_gain({"--compute-s", "0.01", "--write-s", "2e-2", "--count", "7",
                                 "--buffers", "3", "--devices", "2", "--jitter", "0.3",
                                 "--compute-jitter", "0.1", "--seed", "9", "--curves"});
  ASSERT_TRUE(query.has_value());
  const GainQuery expected{
      .pipeline = {.compute_s = 0.01, .write_s = 0.02, .count = 7, .buffers = 3, .devices = 2},
      .jitter = {.compute = 0.1, .write = 0.3, .seed = 9},
      .curves = Curves::kInclude};
  EXPECT_EQ(*query, expected);
}

TEST(ParseGain, takes_unlimited_buffers) {
  const auto query = parse_gain({"--buffers", "unlimited"});
  ASSERT_TRUE(query.has_value());
  EXPECT_EQ(query->pipeline.buffers, model::kUnlimitedBuffers);
}

TEST(ParseGain, unknown_words_fail) {
  using ArgumentList = std::vector<std::string_view>;
  for (const ArgumentList& words :
       {ArgumentList{"loss"}, ArgumentList{"--buffer", "2"}, ArgumentList{"--count"},
        ArgumentList{"--count", "-1"}, ArgumentList{"--count", "1.5"},
        ArgumentList{"--buffers", "all"}, ArgumentList{"--write-s", "1s"}}) {
    EXPECT_FALSE(parse_gain(words).has_value());
  }
  EXPECT_EQ(parse_gain({"--write-s", "x"}).error().cause(), "--write-s must be a number, not 'x'");
}

}  // namespace
}  // namespace forebay::model_tool
