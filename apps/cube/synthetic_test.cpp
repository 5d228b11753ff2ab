// SPDX-License-Identifier: Apache-2.0
#include "cube/synthetic.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::cube {
namespace {

constexpr std::uint32_t kCallPathsInAll = 56;

class MissingRows : public ::testing::TestWithParam<MetricKind> {
 protected:
  const CallTree tree =
      synthetic_anchor({.locations = 64, .call_paths = kCallPathsInAll}).call_tree;

  /// By place in the tree.
  std::vector<bool> there(std::uint32_t missing, std::uint64_t seed) const {
    const auto places = tree.places_by_row(GetParam());
    std::vector<bool> is_there(tree.size(), false);
    for (const std::uint32_t row : synthetic_rows(tree, GetParam(), missing, seed))
      is_there[places[row]] = true;
    return is_there;
  }
};

TEST_P(MissingRows, are_as_many_as_asked_for) {
  for (std::uint32_t missing = 0; missing < kCallPathsInAll; ++missing) {
    const auto rows = synthetic_rows(tree, GetParam(), missing, missing);
    EXPECT_EQ(rows.size(), kCallPathsInAll - missing);
    EXPECT_TRUE(std::ranges::is_sorted(rows));
  }
}

TEST_P(MissingRows, have_no_row_below_them) {
  for (std::uint32_t missing = 1; missing < kCallPathsInAll; ++missing) {
    const auto is_there = there(missing, 7 * missing);
    for (std::uint32_t place = 0; place < tree.size(); ++place) {
      const std::uint32_t parent = tree.at(place).parent;
      if (!is_there[place] || parent == kNone) continue;
      EXPECT_TRUE(is_there[parent]) << missing << " missing, " << place;
    }
  }
}

TEST_P(MissingRows, follow_from_the_seed) {
  EXPECT_EQ(there(9, 3), there(9, 3));
  EXPECT_NE(there(9, 3), there(9, 4));
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         MissingRows,
                         ::testing::Values(MetricKind::kExclusive, MetricKind::kInclusive),
                         [](const auto& kind) {
                           return kind.param == MetricKind::kExclusive ? "exclusive" : "inclusive";
                         });

}  // namespace
}  // namespace forebay::cube
