// SPDX-License-Identifier: Apache-2.0
// Runs one script for several locations at a time. Where their ways part (an index or a text that
// differs between them) it stops and says so, and the caller runs it for each location alone, where
// everything is the same everywhere: both ways are this one, and give the same values.
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
#include "cube/cubepl/fact_table.hpp"
#include "cube/cubepl/program.hpp"
#include "cube/cubepl/variables.hpp"

namespace forebay::cubepl {

struct LocationRange {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Which value is being computed, and of which locations at a time: at most kLanesMax.
struct Place {
  std::size_t metric = 0;
  std::size_t callpath = 0;
  Flavour flavour = Flavour::kExclusive;
  LocationRange locations = {0, 1};
};

/// What runs may use up; reaching one is an Error. A step is a statement, a turn of a loop, the run
/// of a script, or kPartsPerStep operators and operands.
struct Limits {
  std::uint64_t init_steps = std::uint64_t{1} << 24U;   ///< of one cubeplinit
  std::uint64_t value_steps = std::uint64_t{1} << 20U;  ///< of one value, with all it is made of
  /// Either of them is at least this for each call path of the profile.
  std::uint64_t callpath_steps = 256;
  std::size_t global_elements = std::size_t{1} << 26U;  ///< of all globals
  std::size_t local_elements = std::size_t{1} << 20U;   ///< of all other variables of one run
};

inline constexpr std::int64_t kPartsPerStep = 16;

/// What is left of the steps for one value. Nested runs share it, so that loops over metrics that
/// loop over others end as one loop does.
class Budget {
 public:
  Budget() = default;
  /// `steps` of them, or as many as are due to the size of the profile.
  Budget(std::uint64_t steps, const Limits& limits, std::size_t callpaths)
      : steps_(std::max(steps, limits.callpath_steps * callpaths)),
        parts_left_(static_cast<std::int64_t>(steps_) * kPartsPerStep) {}

  std::uint64_t steps() const noexcept { return steps_; }
  /// May overdraw: a script has few parts between two steps.
  void take_part() noexcept { --parts_left_; }
  /// False if there are no steps left.
  bool take_step() noexcept {
    parts_left_ -= kPartsPerStep;
    return parts_left_ >= 0;
  }
  /// What the one of two runs from here that takes more leaves.
  void keep_less(const Budget& other) noexcept {
    parts_left_ = std::min(parts_left_, other.parts_left_);
  }

 private:
  std::uint64_t steps_ = 0;
  std::int64_t parts_left_ = 0;
};

/// Where metric::x() gets its values.
class MetricValues {
 public:
  virtual ~MetricValues() = default;
  /// Of the locations of `place`. After a failure, anything; the failure is kept.
  virtual Lanes value(const Place& place) = 0;
  /// The sum over all locations.
  virtual double sum(const Node& reference, const Place& place) = 0;
};

/// What the scripts of one thread share.
struct Machine {
  const Program* program = nullptr;
  const Knowledge* knowledge = nullptr;
  const std::vector<GlobalArray>* globals = nullptr;
  const std::vector<std::string>* metric_values = nullptr;  ///< by number; "VOID": switched off
  const std::vector<MetricFacts>* input_facts = nullptr;    ///< of the program's inputs
  PatternMemory* patterns = nullptr;
  MetricValues* metrics = nullptr;
  Scratch* scratch = nullptr;
  Limits limits;
  Budget budget;
  std::optional<Error> error;  ///< the first one; every run ends at once when it is there

  // In cubeplinit only:
  std::vector<GlobalArray>* assignable_globals = nullptr;
  std::vector<std::string>* assignable_metric_values = nullptr;
  std::function<std::string(const std::string&)> environment;
  std::size_t global_element_count = 0;
};

/// The operands of <cubeplaggr>.
struct Arguments {
  const Lanes* first = nullptr;
  const Lanes* second = nullptr;
};

/// One run of one script. `code`, `machine` and the arguments must outlive it.
class Interpreter {
 public:
  Interpreter(Machine& machine, const Code& code, const Place& place, Arguments arguments = {});

  /// The script's value; none if the locations' ways part, which cannot be with a single one. After
  /// a failure, anything; the failure is in the machine.
  std::optional<Lanes> run();

 private:
  bool stopped() const noexcept { return parted_ || machine_.error.has_value(); }
  void part() noexcept { parted_ = true; }
  void fail(const Node& node, ErrorClass kind, std::string what);
  void step(const Node& node);

  Lanes number(NodeId id);
  Value value(NodeId id);
  std::string text(NodeId id);
  std::string as_text(Value value);

  Lanes two(const Node& node);
  Value variable(const Node& node);
  Value fact_value(const Node& node, double index) const;
  Lanes quantity(Quantity what);
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

  std::size_t count() const noexcept { return place_.locations.count; }

  Machine& machine_;
  const Code& code_;
  Place place_;
  Arguments arguments_;
  std::vector<LocalArray> locals_;
  std::size_t local_element_count_ = 0;
  Lanes mask_{1};  ///< which locations the present statement is for
  bool parted_ = false;
};

}  // namespace forebay::cubepl
