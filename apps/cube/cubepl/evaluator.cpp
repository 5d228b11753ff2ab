// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/evaluator.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace forebay::cubepl {

Evaluator::Evaluator(const BoundProgram& bound_program, ProfileView& profile)
    : bound_program_(bound_program),
      profile_(profile),
      patterns_(bound_program.program().patterns),
      state_{.program = &bound_program.program(),
             .tables = &bound_program.tables(),
             .globals = &bound_program.globals(),
             .metric_values = &bound_program.metric_values(),
             .input_info = &bound_program.input_info(),
             .patterns = &patterns_,
             .metrics = this,
             .scratch = &scratch_,
             .limits = bound_program.limits()},
      totals_(bound_program.program().metric_count()) {}

Status Evaluator::evaluate(const OutputRow& key,
                           LocationRange locations,
                           std::span<double> values) {
  state_.error.reset();
  rows_.clear();
  sums_.clear();
  if (!is_subtree_sum(key)) {
    evaluate_call_path(key, locations, values);
  } else {
    const std::size_t numbers = kTreeBytesMax / sizeof(double) / subtree_depth(key.callpath);
    const std::size_t step = std::max(kLanesMax, numbers / kLanesMax * kLanesMax);
    for (std::size_t done = 0; done < locations.count && !state_.error; done += step) {
      const std::size_t count = std::min(step, locations.count - done);
      evaluate_subtree(key, {locations.first + done, count}, values.subspan(done, count));
    }
  }
  if (state_.error) return failure(*state_.error);
  return {};
}

void Evaluator::evaluate_call_path(const OutputRow& key,
                                   LocationRange locations,
                                   std::span<double> values) {
  fill_blocks(key, locations, values,
              [this](const EvalContext& context) { return value(context); });
}

template <class Compute>
void Evaluator::fill_blocks(const OutputRow& key,
                            LocationRange locations,
                            std::span<double> values,
                            const Compute& compute) {
  for (std::size_t done = 0; done < locations.count && !state_.error; done += kLanesMax) {
    const std::size_t count = std::min(kLanesMax, locations.count - done);
    fill_block({.metric = key.metric,
                .callpath = key.callpath,
                .flavor = key.flavor,
                .locations = {locations.first + done, count}},
               values.subspan(done, count), compute);
  }
}

template <class Compute>
void Evaluator::fill_block(const EvalContext& context,
                           std::span<double> values,
                           const Compute& compute) {
  state_.budget = budget_of_value();
  const Lanes lanes = compute(context);
  if (state_.error && values.size() > 1) {
    // The limit may have been reached in a branch, or in a right operand, that no location
    // executes.
    state_.error.reset();
    EvalContext single = context;
    for (std::size_t i = 0; i < values.size() && !state_.error; ++i) {
      single.locations = {context.locations.first + i, 1};
      state_.budget = budget_of_value();
      values[i] = compute(single).number();
    }
  } else if (lanes.is_uniform()) {
    std::ranges::fill(values, lanes.number());
  } else {
    std::copy_n(lanes.numbers(), values.size(), values.begin());
  }
}

StepBudget Evaluator::budget_of_value() const {
  return {bound_program_.limits().value_steps, bound_program_.limits(),
          bound_program_.info().callpaths.size()};
}

/// Whether values are sums over the call paths below, computed by whole rows instead of blocks. So
/// only the rows of one call path at a time are in memory.
bool Evaluator::is_subtree_sum(const OutputRow& key) const {
  const MetricKind kind = bound_program_.program().kind_of(key.metric);
  return kind == MetricKind::kPrederivedExclusive && key.flavor == Flavor::kInclusive &&
         !bound_program_.is_disabled(key.metric) &&
         !bound_program_.children_of(key.callpath).empty();
}

std::size_t Evaluator::subtree_depth(std::size_t callpath) const {
  std::size_t levels = 0;
  std::vector<std::size_t> level{callpath};
  for (std::vector<std::size_t> next; !level.empty(); level = std::exchange(next, {})) {
    ++levels;
    for (const std::size_t above : level) {
      const auto children = bound_program_.children_of(above);
      next.insert(next.end(), children.begin(), children.end());
    }
  }
  return levels;
}

/// Computes the same sums as sum_subtree() in the same order, row by row.
void Evaluator::evaluate_subtree(const OutputRow& key,
                                 LocationRange block,
                                 std::span<double> values) {
  std::vector<RowLevel> stack;
  stack.push_back(exclusive_row(key, block, key.callpath));
  while (!state_.error) {
    const auto children = bound_program_.children_of(stack.back().callpath);
    if (stack.back().next_child < children.size()) {
      const std::size_t child = children[stack.back().next_child++];
      stack.push_back(exclusive_row(key, block, child));
      continue;
    }
    std::vector<double> total = std::move(stack.back().totals);
    stack.pop_back();
    if (stack.empty()) {
      std::ranges::copy(total, values.begin());
    } else {
      add_row(key, block, total, stack.back().totals);
    }
    free_rows_.push_back(std::move(total));
    if (stack.empty()) return;
  }
}

Evaluator::RowLevel Evaluator::exclusive_row(const OutputRow& key,
                                             LocationRange block,
                                             std::size_t callpath) {
  RowLevel level{.callpath = callpath, .next_child = 0, .totals = {}};
  if (!free_rows_.empty()) {
    level.totals = std::move(free_rows_.back());
    free_rows_.pop_back();
  }
  level.totals.resize(block.count);
  evaluate_call_path({key.metric, callpath, Flavor::kExclusive}, block, level.totals);
  rows_.clear();
  profile_.release_rows();
  return level;
}

void Evaluator::add_row(const OutputRow& key,
                        LocationRange block,
                        std::span<const double> right,
                        std::span<double> left) {
  const auto sum = [&](const EvalContext& context) {
    const std::size_t at = context.locations.first - block.first;
    if (context.locations.count == 1)
      return combine(context, Op::kAdd, Lanes(left[at]), Lanes(right[at]));
    return combine(context, Op::kAdd, Lanes::view(&left[at]), Lanes::view(&right[at]));
  };
  fill_blocks(key, block, left, sum);
  rows_.clear();
  profile_.release_rows();
}

Lanes Evaluator::value(const EvalContext& context) {
  const Program& program = bound_program_.program();
  if (state_.error || bound_program_.is_disabled(context.metric)) return Lanes();
  const bool is_inclusive = context.flavor == Flavor::kInclusive;
  switch (program.kind_of(context.metric)) {
    case MetricKind::kPrederivedExclusive:
      if (is_inclusive) return sum_subtree(context);
      break;
    case MetricKind::kPrederivedInclusive:
      if (!is_inclusive) return subtract_children(context);
      break;
    case MetricKind::kPostderived:
      break;
    default:
      return stored(context);
  }
  return run(program.metrics[context.metric].expression, context);
}

Lanes Evaluator::stored(const EvalContext& context) {
  const auto metric = bound_program_.stored_index(context.metric);
  if (!metric) return Lanes();
  const std::span<const double> values = row({*metric, context.callpath, context.flavor});
  if (values.empty()) return Lanes();
  if (context.locations.count == 1) return Lanes(values[context.locations.first]);
  return Lanes::view(values.data() + context.locations.first);
}

std::span<const double> Evaluator::row(const InputRow& key) {
  const auto known = std::ranges::find(rows_, key, &CachedRow::key);
  if (known != rows_.end()) return known->values;
  const auto read = profile_.row(key);
  if (!read) {
    if (!state_.error) state_.error = read.error();
    return {};
  }
  rows_.push_back({key, *read});
  return *read;
}

Lanes Evaluator::run(const CompiledScript& code, const EvalContext& context, Operands arguments) {
  auto lanes = Interpreter(state_, code, context, arguments).run();
  return lanes ? std::move(*lanes) : run_per_location(code, context, arguments);
}

/// All locations start with the same budget, as they do without divergence.
Lanes Evaluator::run_per_location(const CompiledScript& code,
                                  const EvalContext& context,
                                  Operands arguments) {
  Scratch::Row row = scratch_.acquire();
  const StepBudget before = state_.budget;
  StepBudget least = before;
  for (std::size_t i = 0; i < context.locations.count && !state_.error; ++i) {
    EvalContext single = context;
    single.locations = {context.locations.first + i, 1};
    const Lanes first(arguments.first != nullptr ? (*arguments.first)[i] : 0);
    const Lanes second(arguments.second != nullptr ? (*arguments.second)[i] : 0);
    state_.budget = before;
    row.data()[i] = Interpreter(state_, code, single, {&first, &second}).run()->number();
    least.limit_to(state_.budget);
  }
  state_.budget = least;
  return Lanes(std::move(row));
}

/// Without recursion, because call trees of recursive programs are deep.
Lanes Evaluator::sum_subtree(const EvalContext& context) {
  const CompiledScript& code = bound_program_.program().metrics[context.metric].expression;
  const auto own = [&](std::size_t callpath) {
    EvalContext other = context;
    other.callpath = callpath;
    other.flavor = Flavor::kExclusive;
    return run(code, other);
  };
  std::vector<Level> stack;
  stack.push_back({context.callpath, 0, own(context.callpath)});
  while (!state_.error) {
    const auto children = bound_program_.children_of(stack.back().callpath);
    if (stack.back().next_child < children.size()) {
      const std::size_t child = children[stack.back().next_child++];
      stack.push_back({child, 0, own(child)});
      continue;
    }
    Lanes total = std::move(stack.back().total);
    stack.pop_back();
    if (stack.empty()) return total;
    stack.back().total =
        combine(context, Op::kAdd, std::move(stack.back().total), std::move(total));
  }
  return Lanes();
}

Lanes Evaluator::subtract_children(const EvalContext& context) {
  const CompiledScript& code = bound_program_.program().metrics[context.metric].expression;
  EvalContext other = context;
  other.flavor = Flavor::kInclusive;
  Lanes rest = run(code, other);
  for (const std::size_t child : bound_program_.children_of(context.callpath)) {
    other.callpath = child;
    rest = combine(context, Op::kSubtract, std::move(rest), run(code, other));
  }
  return rest;
}

Lanes Evaluator::combine(const EvalContext& context, Op op, Lanes left, Lanes right) {
  const MetricScripts& scripts = bound_program_.program().metrics[context.metric];
  const CompiledScript& code = op == Op::kAdd ? scripts.plus : scripts.minus;
  if (code.empty())
    return apply(op, std::move(left), std::move(right), context.locations.count, scratch_);
  return run(code, context, {&left, &right});
}

double Evaluator::sum(const Node& reference, const EvalContext& context) {
  return reference.scope == ReferenceScope::kAllCallPaths ? sum_of_all(context)
                                                          : sum_of_locations(context);
}

double Evaluator::sum_of_locations(const EvalContext& context) {
  const InputRow key{context.metric, context.callpath, context.flavor};
  const auto known = std::ranges::find(sums_, key, &CachedSum::key);
  if (known != sums_.end()) return known->sum;
  const std::size_t count = bound_program_.info().locations.size();
  double sum = 0;
  EvalContext other = context;
  // Each of these values is computed once per call of evaluate(), with its own budget.
  const StepBudget outer = state_.budget;
  for (std::size_t done = 0; done < count && !state_.error; done += kLanesMax) {
    other.locations = {done, std::min(kLanesMax, count - done)};
    state_.budget = budget_of_value();
    const Lanes lanes = value(other);
    for (std::size_t i = 0; i < other.locations.count; ++i)
      sum += lanes[i];
  }
  state_.budget = outer;
  // A sum that an error interrupted is not kept; evaluation of single locations meets the error
  // again.
  if (!state_.error) sums_.push_back({key, sum});
  return sum;
}

double Evaluator::sum_of_all(const EvalContext& context) {
  std::optional<double>& total = totals_[context.metric];
  if (total) return *total;
  double sum = 0;
  EvalContext other = context;
  other.flavor = Flavor::kInclusive;
  for (const std::size_t root : bound_program_.root_callpaths()) {
    other.callpath = root;
    sum += sum_of_locations(other);
  }
  if (!state_.error) totals_[context.metric] = sum;
  return sum;
}

}  // namespace forebay::cubepl
