// SPDX-License-Identifier: Apache-2.0
// nearest_word(): the suggestion for an unknown word.
#include "base/nearest.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace forebay {
namespace {

const std::vector<std::string> kWords{"budget", "engine", "copy_threads"};

TEST(NearestWord, has_the_smallest_edit_distance) {
  EXPECT_EQ(nearest_word("bugdet", kWords), "budget");
  EXPECT_EQ(nearest_word("engines", kWords), "engine");
  EXPECT_EQ(nearest_word("copythreads", kWords), "copy_threads");
}

TEST(NearestWord, is_the_first_of_equally_near_words) {
  EXPECT_EQ(nearest_word("c", std::vector<std::string>{"a", "b"}), "a");
}

TEST(NearestWord, is_empty_without_words) { EXPECT_EQ(nearest_word("budget", {}), ""); }

}  // namespace
}  // namespace forebay
