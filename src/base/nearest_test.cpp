// SPDX-License-Identifier: Apache-2.0
// Which word is offered for one that nobody knows.
#include "base/nearest.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

const std::vector<std::string> kWords{"budget", "engine", "copy_threads"};

TEST(NearestWord, takes_the_fewest_changes_of_letters) {
  EXPECT_EQ(nearest_word("bugdet", kWords), "budget");
  EXPECT_EQ(nearest_word("engines", kWords), "engine");
  EXPECT_EQ(nearest_word("copythreads", kWords), "copy_threads");
}

TEST(NearestWord, is_the_first_of_several_as_near) {
  EXPECT_EQ(nearest_word("c", std::vector<std::string>{"a", "b"}), "a");
}

TEST(NearestWord, is_empty_if_there_are_no_words) { EXPECT_EQ(nearest_word("budget", {}), ""); }

}  // namespace
}  // namespace forebay
