// SPDX-License-Identifier: Apache-2.0
#include "cube/cubepl/evaluator.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace forebay::cubepl {

Evaluator::Evaluator(const Derivation& derivation, ProfileView& profile)
    : derivation_(derivation),
      profile_(profile),
      patterns_(derivation.program().patterns),
      machine_{.program = &derivation.program(),
               .knowledge = &derivation.knowledge(),
               .globals = &derivation.globals(),
               .metric_values = &derivation.metric_values(),
               .input_facts = &derivation.input_facts(),
               .patterns = &patterns_,
               .metrics = this,
               .scratch = &scratch_,
               .limits = derivation.limits()},
      totals_(derivation.program().metric_count()) {}

Status Evaluator::evaluate(const OutputRow& which,
                           LocationRange locations,
                           std::span<double> values) {
  machine_.error.reset();
  rows_.clear();
  sums_.clear();
  if (!adds_up_below(which)) {
    evaluate_own(which, locations, values);
  } else {
    const std::size_t numbers = kTreeBytesMax / sizeof(double) / levels_below(which.callpath);
    const std::size_t step = std::max(kLanesMax, numbers / kLanesMax * kLanesMax);
    for (std::size_t done = 0; done < locations.count && !machine_.error; done += step) {
      const std::size_t count = std::min(step, locations.count - done);
      evaluate_below(which, {locations.first + done, count}, values.subspan(done, count));
    }
  }
  if (machine_.error) return failure(*machine_.error);
  return {};
}

void Evaluator::evaluate_own(const OutputRow& which,
                             LocationRange locations,
                             std::span<double> values) {
  fill_pieces(which, locations, values, [this](const Place& place) { return value(place); });
}

template <class Compute>
void Evaluator::fill_pieces(const OutputRow& which,
                            LocationRange locations,
                            std::span<double> values,
                            const Compute& compute) {
  for (std::size_t done = 0; done < locations.count && !machine_.error; done += kLanesMax) {
    const std::size_t count = std::min(kLanesMax, locations.count - done);
    fill_piece({.metric = which.metric,
                .callpath = which.callpath,
                .flavour = which.flavour,
                .locations = {locations.first + done, count}},
               values.subspan(done, count), compute);
  }
}

template <class Compute>
void Evaluator::fill_piece(const Place& place, std::span<double> values, const Compute& compute) {
  machine_.budget = budget_of_value();
  const Lanes lanes = compute(place);
  if (machine_.error && values.size() > 1) {
    // A limit may be reached in a branch, or on a right side, that no location has to take.
    machine_.error.reset();
    Place alone = place;
    for (std::size_t i = 0; i < values.size() && !machine_.error; ++i) {
      alone.locations = {place.locations.first + i, 1};
      machine_.budget = budget_of_value();
      values[i] = compute(alone).number();
    }
  } else if (lanes.is_uniform()) {
    std::ranges::fill(values, lanes.number());
  } else {
    std::copy_n(lanes.numbers(), values.size(), values.begin());
  }
}

Budget Evaluator::budget_of_value() const {
  return {derivation_.limits().value_steps, derivation_.limits(),
          derivation_.facts().callpaths.size()};
}

/// Whether values are sums over the call paths below, by whole rows instead of by pieces: so that
/// rows of one call path at a time are in memory, and not those of all.
bool Evaluator::adds_up_below(const OutputRow& which) const {
  const MetricKind kind = derivation_.program().kind_of(which.metric);
  return kind == MetricKind::kPrederivedExclusive && which.flavour == Flavour::kInclusive &&
         !derivation_.is_off(which.metric) && !derivation_.children_of(which.callpath).empty();
}

std::size_t Evaluator::levels_below(std::size_t callpath) const {
  std::size_t levels = 0;
  std::vector<std::size_t> level{callpath};
  for (std::vector<std::size_t> next; !level.empty(); level = std::exchange(next, {})) {
    ++levels;
    for (const std::size_t above : level) {
      const auto children = derivation_.children_of(above);
      next.insert(next.end(), children.begin(), children.end());
    }
  }
  return levels;
}

/// As all_below(), row by row: the same sums in the same order.
void Evaluator::evaluate_below(const OutputRow& which,
                               LocationRange block,
                               std::span<double> values) {
  std::vector<RowLevel> way;
  way.push_back(own_row(which, block, which.callpath));
  while (!machine_.error) {
    const auto children = derivation_.children_of(way.back().callpath);
    if (way.back().next_child < children.size()) {
      const std::size_t child = children[way.back().next_child++];
      way.push_back(own_row(which, block, child));
      continue;
    }
    std::vector<double> total = std::move(way.back().totals);
    way.pop_back();
    if (way.empty()) {
      std::ranges::copy(total, values.begin());
    } else {
      add_row(which, block, total, way.back().totals);
    }
    spare_rows_.push_back(std::move(total));
    if (way.empty()) return;
  }
}

Evaluator::RowLevel Evaluator::own_row(const OutputRow& which,
                                       LocationRange block,
                                       std::size_t callpath) {
  RowLevel level{.callpath = callpath, .next_child = 0, .totals = {}};
  if (!spare_rows_.empty()) {
    level.totals = std::move(spare_rows_.back());
    spare_rows_.pop_back();
  }
  level.totals.resize(block.count);
  evaluate_own({which.metric, callpath, Flavour::kExclusive}, block, level.totals);
  rows_.clear();
  profile_.forget_rows();
  return level;
}

void Evaluator::add_row(const OutputRow& which,
                        LocationRange block,
                        std::span<const double> right,
                        std::span<double> left) {
  const auto sum = [&](const Place& place) {
    const std::size_t at = place.locations.first - block.first;
    if (place.locations.count == 1)
      return combined(place, Op::kAdd, Lanes(left[at]), Lanes(right[at]));
    return combined(place, Op::kAdd, Lanes::view(&left[at]), Lanes::view(&right[at]));
  };
  fill_pieces(which, block, left, sum);
  rows_.clear();
  profile_.forget_rows();
}

Lanes Evaluator::value(const Place& place) {
  const Program& program = derivation_.program();
  if (machine_.error || derivation_.is_off(place.metric)) return Lanes();
  const bool is_inclusive = place.flavour == Flavour::kInclusive;
  switch (program.kind_of(place.metric)) {
    case MetricKind::kPrederivedExclusive:
      if (is_inclusive) return all_below(place);
      break;
    case MetricKind::kPrederivedInclusive:
      if (!is_inclusive) return without_children(place);
      break;
    case MetricKind::kPostderived:
      break;
    default:
      return stored(place);
  }
  return run(program.metrics[place.metric].expression, place);
}

Lanes Evaluator::stored(const Place& place) {
  const auto metric = derivation_.stored_as(place.metric);
  if (!metric) return Lanes();
  const std::span<const double> values = row({*metric, place.callpath, place.flavour});
  if (values.empty()) return Lanes();
  if (place.locations.count == 1) return Lanes(values[place.locations.first]);
  return Lanes::view(values.data() + place.locations.first);
}

std::span<const double> Evaluator::row(const InputRow& which) {
  const auto known = std::ranges::find(rows_, which, &KnownRow::which);
  if (known != rows_.end()) return known->values;
  const auto read = profile_.row(which);
  if (!read) {
    if (!machine_.error) machine_.error = read.error();
    return {};
  }
  rows_.push_back({which, *read});
  return *read;
}

Lanes Evaluator::run(const Code& code, const Place& place, Arguments arguments) {
  auto lanes = Interpreter(machine_, code, place, arguments).run();
  return lanes ? std::move(*lanes) : run_alone(code, place, arguments);
}

/// Locations use up steps side by side, as they do where their ways do not part.
Lanes Evaluator::run_alone(const Code& code, const Place& place, Arguments arguments) {
  Scratch::Row row = scratch_.take();
  const Budget before = machine_.budget;
  Budget least = before;
  for (std::size_t i = 0; i < place.locations.count && !machine_.error; ++i) {
    Place alone = place;
    alone.locations = {place.locations.first + i, 1};
    const Lanes first(arguments.first != nullptr ? (*arguments.first)[i] : 0);
    const Lanes second(arguments.second != nullptr ? (*arguments.second)[i] : 0);
    machine_.budget = before;
    row.data()[i] = Interpreter(machine_, code, alone, {&first, &second}).run()->number();
    least.keep_less(machine_.budget);
  }
  machine_.budget = least;
  return Lanes(std::move(row));
}

/// Without recursion: call trees of recursive programs are deep.
Lanes Evaluator::all_below(const Place& place) {
  const Code& code = derivation_.program().metrics[place.metric].expression;
  const auto own = [&](std::size_t callpath) {
    Place there = place;
    there.callpath = callpath;
    there.flavour = Flavour::kExclusive;
    return run(code, there);
  };
  std::vector<Level> way;
  way.push_back({place.callpath, 0, own(place.callpath)});
  while (!machine_.error) {
    const auto children = derivation_.children_of(way.back().callpath);
    if (way.back().next_child < children.size()) {
      const std::size_t child = children[way.back().next_child++];
      way.push_back({child, 0, own(child)});
      continue;
    }
    Lanes total = std::move(way.back().total);
    way.pop_back();
    if (way.empty()) return total;
    way.back().total = combined(place, Op::kAdd, std::move(way.back().total), std::move(total));
  }
  return Lanes();
}

Lanes Evaluator::without_children(const Place& place) {
  const Code& code = derivation_.program().metrics[place.metric].expression;
  Place there = place;
  there.flavour = Flavour::kInclusive;
  Lanes rest = run(code, there);
  for (const std::size_t child : derivation_.children_of(place.callpath)) {
    there.callpath = child;
    rest = combined(place, Op::kSubtract, std::move(rest), run(code, there));
  }
  return rest;
}

Lanes Evaluator::combined(const Place& place, Op op, Lanes left, Lanes right) {
  const MetricCode& codes = derivation_.program().metrics[place.metric];
  const Code& code = op == Op::kAdd ? codes.plus : codes.minus;
  if (code.empty())
    return apply(op, std::move(left), std::move(right), place.locations.count, scratch_);
  return run(code, place, {&left, &right});
}

double Evaluator::sum(const Node& reference, const Place& place) {
  return reference.reach == Reach::kAllOfAll ? sum_of_all(place) : sum_of_locations(place);
}

double Evaluator::sum_of_locations(const Place& place) {
  const InputRow which{place.metric, place.callpath, place.flavour};
  const auto known = std::ranges::find(sums_, which, &KnownSum::which);
  if (known != sums_.end()) return known->sum;
  const std::size_t all = derivation_.facts().locations.size();
  double sum = 0;
  Place there = place;
  // Each of these values is computed once in a call of evaluate(), and has steps of its own.
  const Budget outer = machine_.budget;
  for (std::size_t done = 0; done < all && !machine_.error; done += kLanesMax) {
    there.locations = {done, std::min(kLanesMax, all - done)};
    machine_.budget = budget_of_value();
    const Lanes lanes = value(there);
    for (std::size_t i = 0; i < there.locations.count; ++i)
      sum += lanes[i];
  }
  machine_.budget = outer;
  // What an error cut short is no sum; the locations that are tried alone then meet it again.
  if (!machine_.error) sums_.push_back({which, sum});
  return sum;
}

double Evaluator::sum_of_all(const Place& place) {
  std::optional<double>& total = totals_[place.metric];
  if (total) return *total;
  double sum = 0;
  Place there = place;
  there.flavour = Flavour::kInclusive;
  for (const std::size_t root : derivation_.root_callpaths()) {
    there.callpath = root;
    sum += sum_of_locations(there);
  }
  if (!machine_.error) totals_[place.metric] = sum;
  return sum;
}

}  // namespace forebay::cubepl
