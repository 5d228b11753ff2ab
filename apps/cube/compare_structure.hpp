// SPDX-License-Identifier: Apache-2.0
// The first half of comparing profiles: whether they describe the same thing. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "cube/anchor.hpp"

namespace forebay::cube {

/// What is different between two descriptions, and what can be compared nevertheless.
struct StructureDifferences {
  std::vector<std::string> texts;
  bool rows_match = true;  ///< same call tree, same locations
  /// Places of metrics in both that are measured and whose values can be compared.
  std::vector<std::pair<std::size_t, std::size_t>> metrics;
};

/// Metrics are the same by their unique names, those of one name by their order; call paths by
/// their places and regions' names, locations by their ids. Ids of metrics, regions and call paths
/// may differ.
StructureDifferences compare_structure(const Anchor& a, const Anchor& b);

}  // namespace forebay::cube
