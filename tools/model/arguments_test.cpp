// SPDX-License-Identifier: Apache-2.0
// Command lines of forebay-model, good and bad.
#include "tools/model/arguments.hpp"

#include <gtest/gtest.h>

namespace forebay::model_tool {
namespace {

TEST(ParseGain, takes_every_option) {
  const auto question = parse_gain({"gain", "--compute-s", "0.01", "--write-s", "2e-2", "--count",
                                    "7", "--buffers", "3", "--devices", "2", "--jitter", "0.3",
                                    "--compute-jitter", "0.1", "--seed", "9", "--curves"});
  ASSERT_TRUE(question.has_value());
  const GainQuestion expected{
      .pipeline = {.compute_s = 0.01, .write_s = 0.02, .count = 7, .buffers = 3, .devices = 2},
      .jitter = {.compute = 0.1, .write = 0.3, .seed = 9},
      .curves = Curves::kTell};
  EXPECT_EQ(*question, expected);
}

TEST(ParseGain, knows_unlimited_buffers) {
  const auto question = parse_gain({"gain", "--buffers", "unlimited"});
  ASSERT_TRUE(question.has_value());
  EXPECT_EQ(question->pipeline.buffers, model::kUnlimitedBuffers);
}

TEST(ParseGain, refuses_what_it_does_not_know) {
  using Words = std::vector<std::string>;
  for (const Words& words : {Words{}, Words{"loss"}, Words{"gain", "--buffer", "2"},
                             Words{"gain", "--count"}, Words{"gain", "--count", "-1"},
                             Words{"gain", "--count", "1.5"}, Words{"gain", "--write-s", "1s"}}) {
    EXPECT_FALSE(parse_gain(words).has_value());
  }
  EXPECT_EQ(parse_gain({"gain", "--seed", "x"}).error().cause(),
            "a wrong or missing value for --seed");
}

}  // namespace
}  // namespace forebay::model_tool
