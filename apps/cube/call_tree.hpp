// SPDX-License-Identifier: Apache-2.0
// The call tree and its two numberings of rows: docs/formats/cubex.md, "Numbering of rows". No
// function recurses, so a tree may be as deep as memory allows.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace forebay::cube {

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

/// The meaning of a metric's values. The first two kinds are measured.
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
  std::uint32_t region = kNone;  ///< index of the called region
  std::uint32_t parent = kNone;  ///< index in the tree; kNone for a root
  std::string module;            ///< call site: module and line; often unknown
  std::int64_t line = -1;
  std::vector<Parameter> parameters;
};

/// All call paths, depth first. The index of a call path is its row in EXCLUSIVE metrics.
class CallTree {
 public:
  /// Appends a call path. Its parent must be the last call path, an ancestor of it, or kNone.
  void add(CallPath path) { paths_.push_back(std::move(path)); }

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(paths_.size()); }
  const CallPath& at(std::uint32_t index) const { return paths_[index]; }
  std::span<const CallPath> paths() const noexcept { return paths_; }

  /// For each row of a measured metric of `kind`, the index of its call path.
  std::vector<std::uint32_t> call_paths_by_row(MetricKind kind) const;
  /// The inverse: for each call path, its row.
  std::vector<std::uint32_t> rows_by_call_path(MetricKind kind) const;
  /// For each call path the end of its subtree: [index, end) are the call path and all below it.
  std::vector<std::uint32_t> subtree_ends() const;
  /// For each call path the number of its ancestors: 0 for a root.
  std::vector<std::uint32_t> depths() const;

 private:
  std::vector<CallPath> paths_;
};

}  // namespace forebay::cube
