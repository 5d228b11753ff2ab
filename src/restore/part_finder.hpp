// SPDX-License-Identifier: Apache-2.0
// PartFinder: finds many parts of one field. Requests for many parts are mostly runs of parts,
// which are runs in the indexes, too. So most parts are found in the next record of a file.
#pragma once

#include <vector>

#include "format/catalog.hpp"

namespace forebay::restore {

/// Used by one thread at a time.
class PartFinder {
 public:
  PartFinder(const format::StepCatalog& step, std::string_view field)
      : step_(step), field_(field) {}

  /// As StepCatalog::find_part().
  Result<format::BlockLocation> find(std::uint64_t part) {
    for (format::BlockLocation& next : hints_) {
      if (!has_part_at(next, part)) continue;
      return format::BlockLocation{next.file, next.field, next.number++};
    }
    auto found = step_.find_part(field_, part);
    if (found) update_hint(*found);
    return found;
  }

 private:
  /// With more files, testing each hint does not pay.
  static constexpr std::size_t kHintsMax = 16;

  bool has_part_at(const format::BlockLocation& location, std::uint64_t part) const {
    const format::Index& index = step_.index(location);
    return location.number < index.fields()[location.field].blocks &&
           index.block(location.field, location.number).key == part;
  }
  void update_hint(format::BlockLocation location) {
    ++location.number;
    for (format::BlockLocation& next : hints_) {
      if (next.file != location.file) continue;
      next = location;
      return;
    }
    if (hints_.size() == kHintsMax) hints_.erase(hints_.begin());
    hints_.push_back(location);
  }

  const format::StepCatalog& step_;
  const std::string_view field_;
  std::vector<format::BlockLocation> hints_;  // for each file, the record after the last one found
};

}  // namespace forebay::restore
