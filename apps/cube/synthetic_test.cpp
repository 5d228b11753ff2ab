// SPDX-License-Identifier: Apache-2.0
#include "cube/synthetic.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

namespace forebay::cube {
namespace {

constexpr std::uint32_t kSyntheticCallPaths = 56;

class MissingRows : public ::testing::TestWithParam<MetricKind> {
 protected:
  const CallTree tree =
      synthetic_anchor({.locations = 64, .call_paths = kSyntheticCallPaths}).call_tree;

  /// By index in the call tree.
  std::vector<bool> present_rows(std::uint32_t missing, std::uint64_t seed) const {
    const auto indices = tree.call_paths_by_row(GetParam());
    std::vector<bool> is_present(tree.size(), false);
    for (const std::uint32_t row : synthetic_rows(tree, GetParam(), missing, seed))
      is_present[indices[row]] = true;
    return is_present;
  }
};

TEST_P(MissingRows, have_requested_count) {
  for (std::uint32_t missing = 0; missing < kSyntheticCallPaths; ++missing) {
    const auto rows = synthetic_rows(tree, GetParam(), missing, missing);
    EXPECT_EQ(rows.size(), kSyntheticCallPaths - missing);
    EXPECT_TRUE(std::ranges::is_sorted(rows));
  }
}

TEST_P(MissingRows, have_no_present_row_below) {
  for (std::uint32_t missing = 1; missing < kSyntheticCallPaths; ++missing) {
    const auto is_present = present_rows(missing, 7 * missing);
    for (std::uint32_t index = 0; index < tree.size(); ++index) {
      const std::uint32_t parent = tree.at(index).parent;
      if (!is_present[index] || parent == kNone) continue;
      EXPECT_TRUE(is_present[parent]) << missing << " missing, " << index;
    }
  }
}

TEST_P(MissingRows, depend_on_seed_only) {
  EXPECT_EQ(present_rows(9, 3), present_rows(9, 3));
  EXPECT_NE(present_rows(9, 3), present_rows(9, 4));
}

INSTANTIATE_TEST_SUITE_P(Kinds,
                         MissingRows,
                         ::testing::Values(MetricKind::kExclusive, MetricKind::kInclusive),
                         [](const auto& kind) {
                           return kind.param == MetricKind::kExclusive ? "exclusive" : "inclusive";
                         });

}  // namespace
}  // namespace forebay::cube
