// SPDX-License-Identifier: Apache-2.0
#include "tools/study/arguments.hpp"

#include <gtest/gtest.h>

namespace forebay::study {
namespace {

using ArgumentList = std::vector<std::string_view>;

Result<StudyRequest> parse_checkpoint(const ArgumentList& words) {
  StudyRequest request;
  CLI::App app;
  add_checkpoint(app, request);
  return command::parse(app, words).map([&](const std::string&) { return request; });
}

std::string usage_error_for(const ArgumentList& words) {
  const auto request = parse_checkpoint(words);
  EXPECT_FALSE(request);
  return request ? "" : request.error().cause();
}

TEST(Arguments, defaults) {
  const auto request = parse_checkpoint({"--machine", "nfs", "--bytes-per-rank", "4096"});
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(request->machines, std::vector<std::string>{"nfs"});
  EXPECT_EQ(request->checkpoint.ranks, 64U);
  EXPECT_EQ(request->checkpoint.nodes, 0U);
  EXPECT_EQ(request->checkpoint.sizes, SizeDistribution::kEqual);
  EXPECT_EQ(request->checkpoint.strategies.size(), 7U);
  EXPECT_EQ(request->progress_mode, probe::ProgressMode::kSilent);
}

TEST(Arguments, options_are_parsed) {
  const auto request = parse_checkpoint({"--machine", "a", "--machine", "b", "--bytes-per-rank",
                                         "800", "--ranks", "12", "--nodes", "3", "--sizes",
                                         "exponential", "--strategy", "baton", "--progress"});
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(request->machines, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request->checkpoint.ranks, 12U);
  EXPECT_EQ(request->checkpoint.nodes, 3U);
  EXPECT_EQ(request->checkpoint.step_bytes(), 9600U);
  EXPECT_EQ(request->checkpoint.sizes, SizeDistribution::kExponential);
  EXPECT_EQ(request->checkpoint.strategies, std::vector{Strategy::kBaton});
  EXPECT_EQ(request->progress_mode, probe::ProgressMode::kJsonLines);
}

TEST(Arguments, error_names_the_wrong_word) {
  const ArgumentList good{"--machine", "nfs", "--bytes-per-rank", "4096"};
  const auto with = [&](std::initializer_list<std::string_view> more) {
    ArgumentList words = good;
    words.insert(words.end(), more);
    return usage_error_for(words);
  };
  EXPECT_EQ(usage_error_for({}), "--machine is required");
  EXPECT_EQ(usage_error_for({"--machine", "nfs"}), "--bytes-per-rank is required");
  EXPECT_EQ(usage_error_for({"--machine", "nfs", "--bytes-per-rank", "12"}),
            "--bytes-per-rank must be a multiple of 8");
  EXPECT_EQ(with({"--bytes-per-rank", "8"}), "--bytes-per-rank is given twice");
  EXPECT_EQ(with({"--color"}), "unknown option --color");
}

TEST(Arguments, error_of_a_wrong_value_has_the_allowed_values) {
  const auto with = [](std::initializer_list<std::string_view> more) {
    ArgumentList words{"--machine", "nfs", "--bytes-per-rank", "4096"};
    words.insert(words.end(), more);
    return usage_error_for(words);
  };
  EXPECT_EQ(with({"--ranks", "0"}), "--ranks must be a whole number from 1 to 1024, not '0'");
  EXPECT_EQ(with({"--ranks", "1025"}), "--ranks must be a whole number from 1 to 1024, not '1025'");
  EXPECT_EQ(with({"--nodes"}), "--nodes needs a value");
  EXPECT_EQ(usage_error_for({"--machine", "nfs", "--bytes-per-rank", "0"}),
            "--bytes-per-rank must be a whole number from 8 to 1073741824, not '0'");
  EXPECT_EQ(with({"--sizes", "odd"}), "--sizes must be equal or exponential, not 'odd'");
  EXPECT_EQ(with({"--strategy", "auto"}),
            "--strategy must be serial, file-per-process, baton, collective, "
            "reduced-blocking, brigade or gather, not 'auto'");
  EXPECT_EQ(with({"--machine"}), "--machine needs a value");
}

}  // namespace
}  // namespace forebay::study
