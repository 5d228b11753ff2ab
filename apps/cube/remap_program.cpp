// SPDX-License-Identifier: Apache-2.0
// Which scripts run: those of a specification, and those of the profile's own derived metrics as
// far as somebody asks for them.
#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "cube/anchor_text.hpp"
#include "cube/remap_metrics.hpp"
#include "cube/script_needs.hpp"

namespace forebay::cube {

namespace {

using cubepl::MetricSpecification;
using cubepl::Script;
using cubepl::Specification;

cubepl::MetricKind kind_of(MetricKind kind) {
  constexpr std::array kKinds{cubepl::MetricKind::kExclusive, cubepl::MetricKind::kInclusive,
                              cubepl::MetricKind::kPrederivedExclusive,
                              cubepl::MetricKind::kPrederivedInclusive,
                              cubepl::MetricKind::kPostderived};
  return kKinds[static_cast<std::size_t>(kind)];
}

void take_scripts(const Metric& from, MetricSpecification& into) {
  into.kind = kind_of(from.kind);
  into.expression = Script(escaped(from.expressions.value));
  into.init = Script(escaped(from.expressions.init));
  into.plus = Script(escaped(from.expressions.plus));
  into.minus = Script(escaped(from.expressions.minus));
  into.aggregation = Script(escaped(from.expressions.aggregate));
}

/// Null if no metric of the profile has the name, or several have it: check_unique() refuses those.
const Metric* find(const Anchor& anchor, std::string_view name) {
  const auto found = std::ranges::find(anchor.metrics, name, &Metric::unique_name);
  if (found == anchor.metrics.end()) return nullptr;
  const auto next = std::find_if(std::next(found), anchor.metrics.end(),
                                 [&](const Metric& other) { return other.unique_name == name; });
  return next == anchor.metrics.end() ? &*found : nullptr;
}

/// A script names a metric by its name alone: fails if several metrics of the profile have it.
Status check_unique(const Anchor& anchor, std::string_view name, const std::string& path) {
  if (std::ranges::count(anchor.metrics, name, &Metric::unique_name) <= 1) return {};
  return failure(located(find_metric(anchor, name).error(), path));
}

/// All metrics that the scripts read from the profile.
Status check_inputs(const Anchor& anchor, const cubepl::Program& program) {
  const std::string& path = program.specification.path;
  for (const MetricSpecification& metric : program.specification.metrics) {
    if (is_derived(metric.kind)) continue;
    if (const Status unique = check_unique(anchor, metric.unique_name, path); !unique)
      return unique;
  }
  for (const cubepl::InputMetric& input : program.inputs)
    if (const Status unique = check_unique(anchor, input.name, path); !unique) return unique;
  return {};
}

/// Adds the profile's derived metric of that name; false if there is none, or it is there already.
bool add(const Anchor& anchor, const std::string& name, Specification& specification) {
  const Metric* const metric = find(anchor, name);
  if (metric == nullptr || is_measured(metric->kind) || specification.find(name)) return false;
  MetricSpecification added;
  added.unique_name = metric->unique_name;
  added.display_name = metric->display_name;
  added.dtype = metric->type.name();
  added.uom = metric->unit;
  added.url = metric->url;
  added.description = metric->description;
  take_scripts(*metric, added);
  specification.metrics.push_back(std::move(added));
  return true;
}

/// Checks the chosen metrics and adds those that the profile derives. One whose name is not unique
/// can only stay an expression.
Status add_chosen(const Anchor& anchor, const RemapChoice& choice, Specification& specification) {
  for (const auto* names : {&choice.select, &choice.inclusive, &choice.exclusive}) {
    for (const std::string& name : *names) {
      if (specification.find(name)) continue;
      const auto place = find_metric(anchor, name);
      if (!place) return failure(located(place.error(), specification.path));
      const Metric& metric = anchor.metrics[*place];
      add(anchor, metric.unique_name, specification);
      const bool stays = is_measured(metric.kind) || names == &choice.select;
      if (stays || specification.find(metric.unique_name)) continue;
      return failure({.kind = ErrorClass::kUnsupported,
                      .operation = "remap",
                      .path = specification.path,
                      .cause = fmt::format("the values of metric {} cannot be computed: several "
                                           "metrics are named '{}'",
                                           name, metric.unique_name)});
    }
  }
  return {};
}

/// A metric that the specification takes for stored and the profile derives.
void take_scripts_of_profile(const Anchor& anchor, Specification& specification) {
  for (MetricSpecification& metric : specification.metrics) {
    if (is_derived(metric.kind)) continue;
    const Metric* const known = find(anchor, metric.unique_name);
    if (known != nullptr && !is_measured(known->kind)) take_scripts(*known, metric);
  }
}

/// Whose scripts are those of the profile: what was added, and what the profile derives.
std::vector<std::string> of_profile(const Anchor& anchor,
                                    const Specification& specification,
                                    const std::vector<bool>& was_derived) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < specification.metrics.size(); ++i) {
    const MetricSpecification& metric = specification.metrics[i];
    const bool is_taken = i >= was_derived.size() || (is_derived(metric.kind) && !was_derived[i]);
    if (is_taken && find(anchor, metric.unique_name) != nullptr)
      names.push_back(metric.unique_name);
  }
  return names;
}

/// Adds what initialises the globals of the metrics of these names; whether there was any. Fails
/// for one whose name is not unique.
Result<bool> add_initialisers(const Anchor& anchor,
                              const std::vector<std::string>& names,
                              Specification& specification) {
  bool has_grown = false;
  for (const std::string& name : names) {
    for (const std::size_t place : initialised_by(anchor, *find(anchor, name))) {
      const std::string& needed = anchor.metrics[place].unique_name;
      const Status unique = check_unique(anchor, needed, specification.path);
      if (!unique) return failure(unique.error());
      has_grown = add(anchor, needed, specification) || has_grown;
    }
  }
  return has_grown;
}

/// Initialisations run in the order of the profile, whatever asked for them.
void order_as_in_profile(const Anchor& anchor,
                         Specification& specification,
                         std::size_t specified) {
  const auto added = std::span(specification.metrics).subspan(specified);
  std::ranges::sort(added, {}, [&](const MetricSpecification& metric) {
    return find(anchor, metric.unique_name);
  });
}

}  // namespace

RemapChoice by_name(const Anchor& anchor, RemapChoice choice) {
  for (auto* const selectors : {&choice.select, &choice.inclusive, &choice.exclusive}) {
    for (std::string& selector : *selectors) {
      const auto place = find_metric(anchor, selector);
      if (!place) continue;
      const std::string& name = anchor.metrics[*place].unique_name;
      if (find(anchor, name) != nullptr) selector = name;
    }
  }
  return choice;
}

Result<RemapProgram> compile_for(const Anchor& anchor,
                                 Specification specification,
                                 const RemapChoice& choice) {
  const std::size_t specified = specification.metrics.size();
  std::vector<bool> was_derived;
  for (const MetricSpecification& metric : specification.metrics)
    was_derived.push_back(is_derived(metric.kind));
  take_scripts_of_profile(anchor, specification);
  if (const Status chosen = add_chosen(anchor, choice, specification); !chosen)
    return failure(chosen.error());
  // What is added may use further ones.
  while (true) {
    order_as_in_profile(anchor, specification, specified);
    auto program = cubepl::compile(specification);
    if (!program) return failure(program.error());
    if (const Status unique = check_inputs(anchor, *program); !unique)
      return failure(unique.error());
    const auto added =
        add_initialisers(anchor, of_profile(anchor, specification, was_derived), specification);
    if (!added) return failure(added.error());
    bool has_grown = *added;
    for (const cubepl::InputMetric& input : program->inputs)
      has_grown = add(anchor, input.name, specification) || has_grown;
    if (!has_grown) return RemapProgram{std::move(*program), specified};
  }
}

}  // namespace forebay::cube
