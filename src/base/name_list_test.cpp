// SPDX-License-Identifier: Apache-2.0
#include "base/name_list.hpp"

#include <gtest/gtest.h>

namespace forebay {
namespace {

TEST(NameList, text_is_bounded_for_many_names) {
  NameList names;
  EXPECT_EQ(names.text(), "none");
  names.add("a");
  names.add("b");
  EXPECT_EQ(names.text(), "a, b");
  for (int i = 0; i < 1000; ++i)
    names.add("c");
  EXPECT_TRUE(names.text().ends_with("c, c and 982 others")) << names.text();
  EXPECT_LT(names.text().size(), 100U);
}

}  // namespace
}  // namespace forebay
