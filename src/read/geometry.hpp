// SPDX-License-Identifier: Apache-2.0
// Geometry: splits an extent of a file into splinters. Pure arithmetic. Requests are rounded to
// splinters here.
#pragma once

#include <forebay/range.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "shm/residency.hpp"

namespace forebay::read {

using shm::SplinterPart;

/// Index of a splinter within its session.
using SplinterIndex = std::uint32_t;

/// Splinters lie on a grid of the *file*: splinter k begins at byte (first + k) * splinter_bytes,
/// where `first` is the grid cell that contains the extent's first byte. Requests are for
/// bytes inside the extent. Loads are rounded to the alignment and may read bytes around it.
class Geometry {
 public:
  Geometry(ByteRange extent, std::uint64_t splinter_bytes) noexcept
      : extent_(extent),
        shift_(static_cast<unsigned>(std::countr_zero(splinter_bytes))),
        origin_(extent.offset >> shift_ << shift_) {}

  const ByteRange& extent() const noexcept { return extent_; }
  std::uint64_t splinter_bytes() const noexcept { return std::uint64_t{1} << shift_; }

  SplinterIndex count() const noexcept {
    if (extent_.empty()) return 0;
    return index_at(extent_.end() - 1) + 1;
  }
  SplinterIndex index_at(std::uint64_t offset) const noexcept {
    return static_cast<SplinterIndex>((offset - origin_) >> shift_);
  }
  /// File offset of a splinter's first byte; may be before the extent.
  std::uint64_t start_of(SplinterIndex splinter) const noexcept {
    return origin_ + (std::uint64_t{splinter} << shift_);
  }
  /// The bytes of `range` in `splinter`, counted from the splinter's start.
  SplinterPart part_of(const ByteRange& range, SplinterIndex splinter) const noexcept {
    const std::uint64_t start = start_of(splinter);
    const ByteRange shared = intersect(range, {start, splinter_bytes()});
    if (shared.empty()) return {};
    return {static_cast<std::uint32_t>(shared.offset - start),
            static_cast<std::uint32_t>(shared.end() - start)};
  }
  /// All bytes of a splinter inside the extent.
  SplinterPart full_part(SplinterIndex splinter) const noexcept {
    return part_of(extent_, splinter);
  }

  ByteRange range_of(SplinterIndex splinter, SplinterPart part) const noexcept {
    return {start_of(splinter) + part.first, part.size()};
  }

 private:
  ByteRange extent_;
  unsigned shift_;  // a splinter has 2^shift_ bytes: a division costs too much for each request
  std::uint64_t origin_;
};

/// Number of whole splinters in `bytes`, at least 1.
inline std::uint32_t splinter_count(std::uint64_t bytes, std::uint64_t splinter_bytes) noexcept {
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(1, bytes / splinter_bytes));
}

/// The smallest part that contains both; an empty part adds nothing.
inline SplinterPart hull(const SplinterPart& a, const SplinterPart& b) noexcept {
  if (a.size() == 0) return b;
  if (b.size() == 0) return a;
  return {std::min(a.first, b.first), std::max(a.end, b.end)};
}

}  // namespace forebay::read
