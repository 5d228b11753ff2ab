// SPDX-License-Identifier: Apache-2.0
// A specification whose scripts are parsed and whose names are resolved: what runs. Made once,
// without a profile; may be used by several threads.
#pragma once

#include <forebay/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cube/cubepl/pattern.hpp"
#include "cube/cubepl/specification.hpp"
#include "cube/cubepl/syntax.hpp"

namespace forebay::cubepl {

/// Operators on one way down through metrics that use each other. Bounds the stack of a run.
inline constexpr std::uint32_t kTotalDepthMax = 1000;
/// Metric evaluations that one value may need. Bounds the time of a value: a chain of 50 metrics,
/// each using the previous one twice, needs 2^50 evaluations.
inline constexpr std::uint64_t kUsesMax = std::uint64_t{1} << 16U;

/// What calculation::... tell; the slot of Home::kCalculation.
enum class Quantity : std::uint8_t {
  kMetric,
  kCallpath,
  kRegion,
  kResource,
  kResourceKind,
};

/// One script that runs. The default is an empty one, whose value is 0.
struct Code {
  Tree tree;
  Script script;
  Origin origin;
  std::uint32_t local_count = 0;

  bool empty() const noexcept { return tree.empty(); }
  /// What went wrong at `node` of this script.
  Error error_at(const Node& node, ErrorClass kind, std::string what) const {
    return error_of({kind, node.offset, std::move(what)}, script, origin);
  }
};

/// The scripts of one metric.
struct MetricCode {
  Code expression;
  Code init;
  Code plus;
  Code minus;
  Code aggregation;
};

/// A metric of the profile.
struct InputMetric {
  std::string name;
  /// What to say if the profile lacks it; none if that does not matter.
  std::optional<Error> missing;
};

struct Program {
  Specification specification;
  std::vector<MetricCode> metrics;  ///< one for each of the specification
  /// Metrics that scripts name and the specification does not have. A metric's number is its index
  /// in the specification, or that many plus its index here.
  std::vector<InputMetric> inputs;
  std::uint32_t global_count = 0;
  std::vector<Pattern> patterns;
  /// What is not an error and still may not be meant: "metric mpi, cubeplinit, line 9, column 20:
  /// ...".
  std::vector<std::string> notes;

  std::size_t metric_count() const noexcept { return metrics.size() + inputs.size(); }
  bool is_input(std::size_t metric) const noexcept { return metric >= metrics.size(); }
  MetricKind kind_of(std::size_t metric) const;
  const std::string& name_of(std::size_t metric) const;
  /// The number of a metric; none if neither the specification nor a script names it.
  std::optional<std::size_t> find(std::string_view name) const;
};

/// Parses all scripts and resolves their names. The Error names metric, script, line and column.
Result<Program> compile(Specification specification);

/// Unique names of the metrics whose rows may be asked for: all stored ones of the specification,
/// in its order, and what expressions ask for besides. A profile need have only the latter.
std::vector<std::string> needed_metrics(const Program& program);

}  // namespace forebay::cubepl
