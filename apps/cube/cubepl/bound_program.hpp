// SPDX-License-Identifier: Apache-2.0
// A program bound to a profile: its metrics are resolved, its cubeplinit have run. It is immutable,
// so any number of threads may compute values from it, each with its own Evaluator.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cube/cubepl/interpreter.hpp"
#include "cube/cubepl/profile_view.hpp"
#include "cube/cubepl/program.hpp"

namespace forebay::cubepl {

/// Access of scripts to their environment.
struct BindOptions {
  /// Returns the environment variable of that name, empty if it is not set.
  std::function<std::string(const std::string&)> environment = [](const std::string&) {
    return std::string();
  };
  Limits limits = {};
};

class BoundProgram {
 public:
  /// Resolves the metrics and runs all cubeplinit. `profile` must outlive the result; no row is
  /// read. Fails with kNotFound for an unknown metric. Fails with kInvalidArgument for a name that
  /// several metrics of the profile have. Other Errors name the position in a script, or the
  /// inconsistency in the profile.
  static Result<std::unique_ptr<const BoundProgram>> create(Program program,
                                                            const ProfileView& profile,
                                                            const BindOptions& options = {});

  const Program& program() const noexcept { return program_; }
  const ProfileInfo& info() const noexcept { return *tables_.info; }
  const ProfileTables& tables() const noexcept { return tables_; }
  const std::vector<GlobalArray>& globals() const noexcept { return globals_; }
  const std::vector<std::string>& metric_values() const noexcept { return metric_values_; }
  const std::vector<MetricInfo>& input_info() const noexcept { return input_info_; }
  const Limits& limits() const noexcept { return limits_; }

  /// Whether the metric with this number (see Program) is switched off, or a metric above it is.
  /// Such a metric must not be written.
  bool is_excluded(std::size_t metric) const;
  /// Whether the metric is switched off and so all its values are 0.
  bool is_disabled(std::size_t metric) const;
  /// The index of the metric in the profile; empty if the profile does not have it.
  std::optional<std::size_t> stored_index(std::size_t metric) const {
    return stored_index_[metric];
  }
  /// The children of a call path, by index.
  std::span<const std::size_t> children_of(std::size_t callpath) const;
  const std::vector<std::size_t>& root_callpaths() const noexcept { return roots_; }

 private:
  BoundProgram() = default;
  Status resolve_metrics();
  Error ambiguous_metric_error(std::string_view name, std::size_t count) const;
  Status link_callpaths();
  Status run_init(const BindOptions& options);

  Program program_;
  ProfileTables tables_;
  Limits limits_;
  std::vector<GlobalArray> globals_;
  std::vector<std::string> metric_values_;  // by number
  std::vector<MetricInfo> input_info_;      // of the program's inputs
  std::vector<std::optional<std::size_t>> stored_index_;
  std::vector<std::size_t> roots_;
  std::vector<std::size_t> children_;        // of all call paths, in sequence
  std::vector<std::size_t> children_begin_;  // first child of each call path, and the end
};

}  // namespace forebay::cubepl
