// SPDX-License-Identifier: Apache-2.0
// PartFinder: where many parts of one field are. Who asks for many asks for runs of them, and those
// lie in runs in the indexes too: most are found by looking at the next record of a file.
#pragma once

#include <vector>

#include "format/catalog.hpp"

namespace forebay::restore {

/// One thread at a time.
class PartFinder {
 public:
  PartFinder(const format::StepCatalog& step, std::string_view field)
      : step_(step), field_(field) {}

  /// As StepCatalog::find_part().
  Result<format::BlockPlace> find(std::uint64_t part) {
    for (format::BlockPlace& next : next_) {
      if (!is(next, part)) continue;
      return format::BlockPlace{next.file, next.field, next.number++};
    }
    auto found = step_.find_part(field_, part);
    if (found) remember(*found);
    return found;
  }

 private:
  /// More files than this are not worth looking at one by one.
  static constexpr std::size_t kFilesMax = 16;

  bool is(const format::BlockPlace& place, std::uint64_t part) const {
    const format::Index& index = step_.index(place);
    return place.number < index.fields()[place.field].blocks &&
           index.block(place.field, place.number).key == part;
  }
  void remember(format::BlockPlace place) {
    ++place.number;
    for (format::BlockPlace& next : next_) {
      if (next.file != place.file) continue;
      next = place;
      return;
    }
    if (next_.size() == kFilesMax) next_.erase(next_.begin());
    next_.push_back(place);
  }

  const format::StepCatalog& step_;
  const std::string_view field_;
  std::vector<format::BlockPlace> next_;  // for each file, what comes after the last that was found
};

}  // namespace forebay::restore
