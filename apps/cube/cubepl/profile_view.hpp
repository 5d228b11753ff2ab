// SPDX-License-Identifier: Apache-2.0
// A profile as scripts see it: names, attributes and trees as plain tables, rows of values through
// one function. Readers of profiles implement ProfileView; the language does not depend on a file
// format.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cube/cubepl/syntax.hpp"

namespace forebay::cubepl {

/// Indices are those of the vectors in ProfileInfo: ids of the profile, renumbered from 0 without
/// gaps.
struct MetricInfo {
  std::string unique_name;
  std::string display_name;
  std::string dtype;
  std::string uom;
  std::string url;
  std::string description;
  std::string expression;
  std::string init_expression;
  std::optional<std::size_t> parent;
};

struct RegionInfo {
  std::string name;
  std::string mangled_name;
  std::string paradigm;
  std::string role;
  std::string url;
  std::string description;
  std::string module;
  std::int64_t begin_line = -1;
  std::int64_t end_line = -1;
};

struct CallpathInfo {
  std::size_t region = 0;             ///< the called region
  std::optional<std::size_t> parent;  ///< any index: ids need not follow the order of the tree
  std::string module;
  std::int64_t line = -1;
};

struct SystemNodeInfo {
  std::string name;
  std::string node_class;
  std::optional<std::size_t> parent;
};

struct LocationGroupInfo {
  std::string name;
  std::int64_t rank = 0;
  std::string type;
  std::size_t parent = 0;  ///< index of a system node
};

struct LocationInfo {
  std::string name;
  std::int64_t rank = 0;
  std::string type;
  std::size_t parent = 0;  ///< index of a location group
};

struct ProfileInfo {
  std::string filename;
  std::size_t mirror_count = 0;
  std::vector<MetricInfo> metrics;
  std::vector<RegionInfo> regions;
  std::vector<CallpathInfo> callpaths;
  std::vector<SystemNodeInfo> system_nodes;
  std::vector<LocationGroupInfo> location_groups;
  std::vector<LocationInfo> locations;
};

/// The key of a row: a metric of ProfileInfo::metrics, a call path of ProfileInfo::callpaths. The
/// flavor is never kSame.
struct InputRow {
  std::size_t metric = 0;
  std::size_t callpath = 0;
  Flavor flavor = Flavor::kExclusive;

  friend bool operator==(const InputRow&, const InputRow&) noexcept = default;
};

class ProfileView {
 public:
  virtual ~ProfileView() = default;

  /// Returns the same object each time. It must not change while scripts run.
  virtual const ProfileInfo& info() const = 0;

  /// Returns the values of the row, one for each location, or none if all of them are 0. They must
  /// stay unchanged until Evaluator::evaluate() returns or calls release_rows(). In between,
  /// evaluate() requests each row once. Called on the thread that evaluates.
  virtual Result<std::span<const double>> row(const InputRow& which) = 0;

  /// The rows returned so far are no longer used. A later row() may return one of them again.
  virtual void release_rows() {}
};

}  // namespace forebay::cubepl
