// SPDX-License-Identifier: Apache-2.0
// The call tree and its two numberings of rows: docs/formats/cubex.md, "Numbering of rows". Trees
// may be as deep as memory holds, so nothing here recurses.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace forebay::cube {

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// How values of a metric are to be understood; the first two are measured.
enum class MetricKind : std::uint8_t {
  kExclusive,
  kInclusive,
  kPrederivedExclusive,
  kPrederivedInclusive,
  kPostderived,
};
constexpr bool is_measured(MetricKind kind) { return kind <= MetricKind::kInclusive; }

struct Parameter {
  std::string type;
  std::string key;
  std::string value;
};

struct CallPath {
  std::uint32_t id = 0;          ///< as in the file
  std::uint32_t region = kNone;  ///< its place among the regions
  std::uint32_t parent = kNone;  ///< its place in the tree; kNone for a root
  std::string module;            ///< where it is called from, and in which line; often not told
  std::int64_t line = -1;
  std::vector<Parameter> parameters;
};

/// All call paths, depth first: a call path's place is its row in EXCLUSIVE metrics.
class CallTree {
 public:
  /// Adds a call path behind those there are. Its parent is the last one, or one above that, or
  /// none.
  void add(CallPath path) { paths_.push_back(std::move(path)); }

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(paths_.size()); }
  const CallPath& at(std::uint32_t place) const { return paths_[place]; }
  std::span<const CallPath> paths() const noexcept { return paths_; }

  /// The place of the call path of each row, for a measured metric of `kind`.
  std::vector<std::uint32_t> places_by_row(MetricKind kind) const;
  /// The opposite: the row of the call path of each place.
  std::vector<std::uint32_t> rows_by_place(MetricKind kind) const;
  /// For each place the end of its subtree: [place, end) are it and all below.
  std::vector<std::uint32_t> subtree_ends() const;
  /// How many call paths are above each, 0 for roots.
  std::vector<std::uint32_t> depths() const;

 private:
  std::vector<CallPath> paths_;
};

}  // namespace forebay::cube
