// SPDX-License-Identifier: Apache-2.0
// Runs one script for several locations (lanes) at a time. If lanes diverge (an index or a text
// differs between them), it stops and returns no value. The caller then runs the script for each
// location alone, where lanes cannot diverge. Both ways use this interpreter and give equal values.
#pragma once

#include <forebay/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cube/cubepl/arithmetic.hpp"
#include "cube/cubepl/profile_variables.hpp"
#include "cube/cubepl/program.hpp"
#include "cube/cubepl/variables.hpp"

namespace forebay::cubepl {

struct LocationRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// The value being computed, for at most kLanesMax locations at a time.
struct EvalContext {
  std::size_t metric = 0;
  std::size_t callpath = 0;
  Flavor flavor = Flavor::kExclusive;
  LocationRange locations = {0, 1};
};

/// Limits of runs; reaching one is an Error. A step is a statement, an iteration of a loop, the run
/// of a script, or kOperandsPerStep operators and operands.
struct Limits {
  std::uint64_t init_steps = std::uint64_t{1} << 24U;   ///< of one cubeplinit
  std::uint64_t value_steps = std::uint64_t{1} << 20U;  ///< of one value, with all values it needs
  /// Each of both limits is at least this many steps for each call path of the profile.
  std::uint64_t callpath_steps = 256;
  std::size_t global_elements = std::size_t{1} << 26U;  ///< of all globals
  std::size_t local_elements = std::size_t{1} << 20U;   ///< of all other variables of one run
};

inline constexpr std::int64_t kOperandsPerStep = 16;

/// The steps left for one value. Nested runs share them, so nested loops over metrics have the same
/// limit as a single loop.
class StepBudget {
 public:
  StepBudget() = default;
  /// `steps`, or the steps that Limits::callpath_steps allows, if they are more.
  StepBudget(std::uint64_t steps, const Limits& limits, std::size_t callpaths)
      : steps_(std::max(steps, limits.callpath_steps * callpaths)),
        operands_left_(static_cast<std::int64_t>(steps_) * kOperandsPerStep) {}

  std::uint64_t steps() const noexcept { return steps_; }
  /// May make the budget negative: a script has few operands between two steps.
  void charge_operand() noexcept { --operands_left_; }
  /// False if no steps are left.
  bool charge_step() noexcept {
    operands_left_ -= kOperandsPerStep;
    return operands_left_ >= 0;
  }
  /// Keeps the smaller remainder of two runs that began with the same budget.
  void limit_to(const StepBudget& other) noexcept {
    operands_left_ = std::min(operands_left_, other.operands_left_);
  }

 private:
  std::uint64_t steps_ = 0;
  std::int64_t operands_left_ = 0;
};

/// The source of the values of metric::x().
class MetricValues {
 public:
  virtual ~MetricValues() = default;
  /// Returns the values at the locations of `context`. After a failure they are unspecified; the
  /// failure is kept.
  virtual Lanes value(const EvalContext& context) = 0;
  /// Returns the sum over all locations.
  virtual double sum(const Node& reference, const EvalContext& context) = 0;
};

/// State shared by the scripts of one thread.
struct InterpreterState {
  const Program* program = nullptr;
  const ProfileTables* tables = nullptr;
  const std::vector<GlobalArray>* globals = nullptr;
  const std::vector<std::string>* metric_values = nullptr;  ///< by number; "VOID": switched off
  const std::vector<MetricInfo>* input_info = nullptr;      ///< of the program's inputs
  PatternCache* patterns = nullptr;
  MetricValues* metrics = nullptr;
  Scratch* scratch = nullptr;
  Limits limits;
  StepBudget budget;
  std::optional<Error> error;  ///< the first one; once it is set, every run ends immediately

  // In cubeplinit only:
  std::vector<GlobalArray>* assignable_globals = nullptr;
  std::vector<std::string>* assignable_metric_values = nullptr;
  std::function<std::string(const std::string&)> environment;
  std::size_t global_element_count = 0;
};

/// The operands of <cubeplaggr>.
struct Operands {
  const Lanes* first = nullptr;
  const Lanes* second = nullptr;
};

/// One run of one script. `code`, `state` and the arguments must outlive the object.
class Interpreter {
 public:
  Interpreter(InterpreterState& state,
              const CompiledScript& code,
              const EvalContext& context,
              Operands arguments = {});

  /// Returns the value of the script; nothing if lanes diverge, which a single location cannot.
  /// After a failure the value is unspecified; the failure is in InterpreterState::error.
  std::optional<Lanes> run();

 private:
  bool is_stopped() const noexcept { return has_diverged_ || state_.error.has_value(); }
  void diverge() noexcept { has_diverged_ = true; }
  void fail(const Node& node, ErrorClass kind, std::string what);
  void step(const Node& node);

  Lanes number(NodeId id);
  Value value(NodeId id);
  std::string text(NodeId id);
  std::string as_text(Value value);

  Lanes binary(const Node& node);
  Value variable(const Node& node);
  Value profile_variable_value(const Node& node, double index) const;
  Lanes calculation_variable(CalculationVariable what);
  Lanes metric(const Node& node);
  double size_of(const Node& node) const;
  std::string property(const Node& node) const;
  std::optional<double> index(const Node& node, std::size_t child);

  void statements(const Node& node, std::size_t count);
  void statement(NodeId id);
  void body(NodeId id, const Lanes& mask);
  void assign(const Node& node);
  void assign_global(const Node& node, std::size_t at, Value value);
  void assign_local(const Node& node, std::size_t at, Value value);
  void conditional(const Node& node);
  void loop(const Node& node);

  std::size_t count() const noexcept { return context_.locations.count; }

  InterpreterState& state_;
  const CompiledScript& script_;
  EvalContext context_;
  Operands operands_;
  std::vector<LocalArray> locals_;
  std::size_t local_element_count_ = 0;
  Lanes mask_{1};  ///< locations that execute the current statement
  bool has_diverged_ = false;
};

}  // namespace forebay::cubepl
