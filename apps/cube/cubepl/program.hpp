// SPDX-License-Identifier: Apache-2.0
// A compiled specification: its scripts are parsed and its names resolved. It is made once, without
// a profile, and may be used by several threads.
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

/// Operators on one path through metrics that use each other. Bounds the stack of a run.
inline constexpr std::uint32_t kTotalDepthMax = 1000;
/// Metric evaluations that one value may need. Bounds the time of a value: a chain of 50 metrics
/// that each use the previous one twice needs 2^50 evaluations.
inline constexpr std::uint64_t kUsesMax = std::uint64_t{1} << 16U;

/// Variables calculation::...; slots of VariableKind::kCalculation.
enum class CalculationVariable : std::uint8_t {
  kMetric,
  kCallpath,
  kRegion,
  kResource,
  kResourceKind,
};

/// A compiled script. The default is an empty one, whose value is 0.
struct CompiledScript {
  Tree tree;
  Script script;
  ScriptOrigin origin;
  std::uint32_t local_count = 0;

  bool empty() const noexcept { return tree.empty(); }
  /// An Error at `node` of this script.
  Error error_at(const Node& node, ErrorClass kind, std::string what) const {
    return make_error({kind, node.offset, std::move(what)}, script, origin);
  }
};

/// The scripts of one metric.
struct MetricScripts {
  CompiledScript expression;
  CompiledScript init;
  CompiledScript plus;
  CompiledScript minus;
  CompiledScript aggregation;
};

/// A metric that is read from the profile.
struct InputMetric {
  std::string name;
  /// The Error if the profile lacks the metric; empty if it may be absent.
  std::optional<Error> missing_error;
};

struct Program {
  Specification specification;
  std::vector<MetricScripts> metrics;  ///< one for each metric of the specification
  /// Metrics that scripts name and the specification does not have. The number of a metric is its
  /// index in the specification, or metrics.size() plus its index here.
  std::vector<InputMetric> inputs;
  std::uint32_t global_count = 0;
  std::vector<Pattern> patterns;
  /// Valid constructs that may be unintended: "metric mpi, cubeplinit, line 9, column 20: ...".
  std::vector<std::string> notes;

  std::size_t metric_count() const noexcept { return metrics.size() + inputs.size(); }
  bool is_input(std::size_t metric) const noexcept { return metric >= metrics.size(); }
  MetricKind kind_of(std::size_t metric) const;
  const std::string& name_of(std::size_t metric) const;
  /// The number of a metric; empty if neither the specification nor a script names it.
  std::optional<std::size_t> find(std::string_view name) const;
};

/// Parses all scripts and resolves their names. The Error names metric, script, line and column.
Result<Program> compile(Specification specification);

/// Returns unique names of the metrics whose rows may be read: all stored ones of the
/// specification, in its order, then others that expressions read. A profile must have the latter
/// only.
std::vector<std::string> required_metrics(const Program& program);

}  // namespace forebay::cubepl
