// SPDX-License-Identifier: Apache-2.0
// Compares the descriptions of two profiles. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "cube/anchor.hpp"

namespace forebay::cube {

/// The differences of two descriptions, and the metrics that can be compared nevertheless.
struct StructureDifferences {
  std::vector<std::string> messages;
  bool has_matching_rows = true;  ///< equal call trees, equal locations
  /// Indices, in both anchors, of measured metrics whose values can be compared.
  std::vector<std::pair<std::size_t, std::size_t>> metrics;
};

/// Matches metrics by unique name, those of one name by their order; call paths by index and name
/// of region; locations by id. Ids of metrics, regions and call paths may differ.
StructureDifferences compare_structure(const Anchor& a, const Anchor& b);

}  // namespace forebay::cube
