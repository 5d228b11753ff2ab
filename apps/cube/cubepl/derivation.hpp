// SPDX-License-Identifier: Apache-2.0
// A program bound to a profile: its metrics are found there, its cubeplinit have run. From then on
// nothing changes, so any number of threads may compute values from it, each with an Evaluator.
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

/// What scripts may ask of the surroundings.
struct Surroundings {
  /// The environment variable of that name, empty if it is not set.
  std::function<std::string(const std::string&)> environment = [](const std::string&) {
    return std::string();
  };
  Limits limits = {};
};

class Derivation {
 public:
  /// Finds the metrics and runs all cubeplinit. `profile` must outlive the result; no row is asked
  /// for here. An Error is kNotFound for a metric that is not there, kInvalidArgument for a name
  /// that several metrics of the profile have, else it names the place in a script, or what does
  /// not fit together in the profile.
  static Result<std::unique_ptr<const Derivation>> create(Program program,
                                                          const ProfileView& profile,
                                                          const Surroundings& surroundings = {});

  const Program& program() const noexcept { return program_; }
  const Facts& facts() const noexcept { return *knowledge_.facts; }
  const Knowledge& knowledge() const noexcept { return knowledge_; }
  const std::vector<GlobalArray>& globals() const noexcept { return globals_; }
  const std::vector<std::string>& metric_values() const noexcept { return metric_values_; }
  const std::vector<MetricFacts>& input_facts() const noexcept { return input_facts_; }
  const Limits& limits() const noexcept { return limits_; }

  /// Whether the metric with this number (see Program) is switched off or below one that is. Such a
  /// metric is not written.
  bool is_left_out(std::size_t metric) const;
  /// Whether it is switched off itself: all values are 0.
  bool is_off(std::size_t metric) const;
  /// Where the profile keeps it; none if it does not.
  std::optional<std::size_t> stored_as(std::size_t metric) const { return stored_as_[metric]; }
  /// Call paths right below one, by index.
  std::span<const std::size_t> children_of(std::size_t callpath) const;
  const std::vector<std::size_t>& root_callpaths() const noexcept { return roots_; }

 private:
  Derivation() = default;
  Status find_metrics();
  Error ambiguous(std::string_view name, std::size_t count) const;
  Status link_callpaths();
  Status run_init(const Surroundings& surroundings);

  Program program_;
  Knowledge knowledge_;
  Limits limits_;
  std::vector<GlobalArray> globals_;
  std::vector<std::string> metric_values_;  // by number
  std::vector<MetricFacts> input_facts_;    // of the program's inputs
  std::vector<std::optional<std::size_t>> stored_as_;
  std::vector<std::size_t> roots_;
  std::vector<std::size_t> children_;        // of all call paths, one after another
  std::vector<std::size_t> children_begin_;  // where each one's begin, and the end
};

}  // namespace forebay::cubepl
