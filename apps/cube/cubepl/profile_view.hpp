// SPDX-License-Identifier: Apache-2.0
// What scripts see of a profile: names, attributes and trees as plain tables, and rows of values
// through one function. Whoever reads profiles implements it; nothing here knows a file format.
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

/// Indices are those of the vectors in Facts: the ids in a profile, counted from 0 without gaps.
struct MetricFacts {
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

struct RegionFacts {
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

struct CallpathFacts {
  std::size_t region = 0;             ///< that is called
  std::optional<std::size_t> parent;  ///< may have any index: ids are not in the tree's order
  std::string module;
  std::int64_t line = -1;
};

struct SystemNodeFacts {
  std::string name;
  std::string node_class;
  std::optional<std::size_t> parent;
};

struct LocationGroupFacts {
  std::string name;
  std::int64_t rank = 0;
  std::string type;
  std::size_t parent = 0;  ///< a system node
};

struct LocationFacts {
  std::string name;
  std::int64_t rank = 0;
  std::string type;
  std::size_t parent = 0;  ///< a location group
};

struct Facts {
  std::string filename;
  std::size_t mirror_count = 0;
  std::vector<MetricFacts> metrics;
  std::vector<RegionFacts> regions;
  std::vector<CallpathFacts> callpaths;
  std::vector<SystemNodeFacts> system_nodes;
  std::vector<LocationGroupFacts> location_groups;
  std::vector<LocationFacts> locations;
};

/// Which row: a metric of Facts::metrics, a call path of Facts::callpaths. Never kSame.
struct InputRow {
  std::size_t metric = 0;
  std::size_t callpath = 0;
  Flavour flavour = Flavour::kExclusive;

  friend bool operator==(const InputRow&, const InputRow&) noexcept = default;
};

class ProfileView {
 public:
  virtual ~ProfileView() = default;

  /// The same object each time; must not change while scripts run.
  virtual const Facts& facts() const = 0;

  /// The row's values, one for each location, or none at all if all of them are 0. They must stay
  /// as they are until Evaluator::evaluate() returns or calls forget_rows(); in between it asks for
  /// a row once. Called by the thread that evaluates.
  virtual Result<std::span<const double>> row(const InputRow& which) = 0;

  /// None of the rows so far is needed any more, unless it is asked for again.
  virtual void forget_rows() {}
};

}  // namespace forebay::cubepl
