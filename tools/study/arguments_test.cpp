// SPDX-License-Identifier: Apache-2.0
#include "tools/study/arguments.hpp"

#include <gtest/gtest.h>

namespace forebay::study {
namespace {

using Words = std::vector<std::string>;

std::string complaint_about(const Words& words) {
  const auto question = parse_checkpoint(words);
  EXPECT_FALSE(question);
  return question ? "" : question.error().cause();
}

TEST(Arguments, have_defaults) {
  const auto question =
      parse_checkpoint({"checkpoint", "--machine", "nfs", "--bytes-per-rank", "4096"});
  ASSERT_TRUE(question) << question.error().message();
  EXPECT_EQ(question->machines, Words{"nfs"});
  EXPECT_EQ(question->checkpoint.ranks, 64U);
  EXPECT_EQ(question->checkpoint.nodes, 0U);
  EXPECT_EQ(question->checkpoint.sizes, bench::checkpoint::Sizes::kEqual);
  EXPECT_EQ(question->checkpoint.strategies.size(), 7U);
  EXPECT_EQ(question->telling, probe::Telling::kSilent);
}

TEST(Arguments, are_taken_as_they_are_given) {
  const auto question = parse_checkpoint(
      {"checkpoint", "--machine", "a", "--machine", "b", "--bytes-per-rank", "800", "--ranks", "12",
       "--nodes", "3", "--sizes", "exponential", "--strategy", "baton", "--progress"});
  ASSERT_TRUE(question) << question.error().message();
  EXPECT_EQ(question->machines, (Words{"a", "b"}));
  EXPECT_EQ(question->checkpoint.ranks, 12U);
  EXPECT_EQ(question->checkpoint.nodes, 3U);
  EXPECT_EQ(question->checkpoint.step_bytes(), 9600U);
  EXPECT_EQ(question->checkpoint.sizes, bench::checkpoint::Sizes::kExponential);
  EXPECT_EQ(question->checkpoint.strategies, std::vector{Strategy::kBaton});
  EXPECT_EQ(question->telling, probe::Telling::kTell);
}

TEST(Arguments, that_are_wrong_are_named) {
  const Words good{"checkpoint", "--machine", "nfs", "--bytes-per-rank", "4096"};
  const auto with = [&](std::initializer_list<std::string> more) {
    Words words = good;
    words.insert(words.end(), more);
    return complaint_about(words);
  };
  EXPECT_EQ(complaint_about({}), "the word checkpoint, and its options");
  EXPECT_EQ(complaint_about({"checkpoint"}), "no machine: write --machine and its name");
  EXPECT_EQ(complaint_about({"checkpoint", "--machine", "nfs"}),
            "no size: write --bytes-per-rank and bytes");
  EXPECT_EQ(with({"--bytes-per-rank", "12"}), "--bytes-per-rank must be a multiple of 8");
  EXPECT_EQ(with({"--colour"}), "unknown word --colour");
}

TEST(Arguments, whose_value_is_wrong_say_what_is_allowed) {
  const auto with = [](std::initializer_list<std::string> more) {
    Words words{"checkpoint", "--machine", "nfs", "--bytes-per-rank", "4096"};
    words.insert(words.end(), more);
    return complaint_about(words);
  };
  EXPECT_EQ(with({"--ranks", "0"}), "--ranks must be a whole number from 1 to 1024, not '0'");
  EXPECT_EQ(with({"--ranks", "1025"}), "--ranks must be a whole number from 1 to 1024, not '1025'");
  EXPECT_EQ(with({"--nodes"}), "--nodes has no value: it must be a whole number from 1 to 1024");
  EXPECT_EQ(with({"--bytes-per-rank", "0"}),
            "--bytes-per-rank must be a whole number from 8 to 1073741824, not '0'");
  EXPECT_EQ(with({"--sizes", "odd"}), "--sizes must be equal or exponential, not 'odd'");
  EXPECT_EQ(with({"--strategy", "auto"}),
            "--strategy must be one of serial, file-per-process, baton, collective, "
            "reduced-blocking, brigade, gather, not 'auto'");
  EXPECT_EQ(with({"--machine"}),
            "--machine has no value: it must be the name of a machine, or a file");
}

}  // namespace
}  // namespace forebay::study
