// SPDX-License-Identifier: Apache-2.0
// Determines the scripts that run: those of a specification, and those of the profile's own derived
// metrics on which they or the selection depend.
#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "cube/anchor_text.hpp"
#include "cube/remap_metrics.hpp"
#include "cube/script_dependencies.hpp"

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

void copy_scripts(const Metric& from, MetricSpecification& into) {
  into.kind = kind_of(from.kind);
  into.expression = Script(escape_xml(from.expressions.value));
  into.init = Script(escape_xml(from.expressions.init));
  into.plus = Script(escape_xml(from.expressions.plus));
  into.minus = Script(escape_xml(from.expressions.minus));
  into.aggregation = Script(escape_xml(from.expressions.aggregate));
}

/// Null if no metric of the profile has the name, or several have it; check_unique() rejects those.
const Metric* find(const Anchor& anchor, std::string_view name) {
  const auto found = std::ranges::find(anchor.metrics, name, &Metric::unique_name);
  if (found == anchor.metrics.end()) return nullptr;
  const auto next = std::find_if(std::next(found), anchor.metrics.end(),
                                 [&](const Metric& other) { return other.unique_name == name; });
  return next == anchor.metrics.end() ? &*found : nullptr;
}

/// A script names a metric by its name only. Fails if several metrics of the profile have it.
Status check_unique(const Anchor& anchor, std::string_view name, const std::string& path) {
  if (std::ranges::count(anchor.metrics, name, &Metric::unique_name) <= 1) return {};
  return failure(with_location(find_metric(anchor, name).error(), path));
}

/// Checks the names of all metrics that the scripts read from the profile.
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

/// Adds the profile's derived metric of that name. False if there is none, or it was added before.
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
  copy_scripts(*metric, added);
  specification.metrics.push_back(std::move(added));
  return true;
}

/// Checks the selected metrics and adds those that the profile derives. A derived metric whose name
/// is not unique can only keep its expression.
Status add_chosen(const Anchor& anchor,
                  const RemapSelection& selection,
                  Specification& specification) {
  for (const auto* names : {&selection.select, &selection.inclusive, &selection.exclusive}) {
    for (const std::string& name : *names) {
      if (specification.find(name)) continue;
      const auto index = find_metric(anchor, name);
      if (!index) return failure(with_location(index.error(), specification.path));
      const Metric& metric = anchor.metrics[*index];
      add(anchor, metric.unique_name, specification);
      const bool stays = is_measured(metric.kind) || names == &selection.select;
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

/// Takes the scripts of the profile for metrics that are stored in the specification and derived in
/// the profile.
void copy_profile_scripts(const Anchor& anchor, Specification& specification) {
  for (MetricSpecification& metric : specification.metrics) {
    if (is_derived(metric.kind)) continue;
    const Metric* const known = find(anchor, metric.unique_name);
    if (known != nullptr && !is_measured(known->kind)) copy_scripts(*known, metric);
  }
}

/// Names of the metrics whose scripts are those of the profile: added ones, and those of
/// copy_profile_scripts().
std::vector<std::string> profile_metric_names(const Anchor& anchor,
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

/// Adds the metrics that initialize globals of the named metrics; returns whether it added any.
/// Fails for a name that is not unique.
Result<bool> add_initializers(const Anchor& anchor,
                              const std::vector<std::string>& names,
                              Specification& specification) {
  bool has_grown = false;
  for (const std::string& name : names) {
    for (const std::size_t index : initializer_metrics(anchor, *find(anchor, name))) {
      const std::string& needed = anchor.metrics[index].unique_name;
      const Status unique = check_unique(anchor, needed, specification.path);
      if (!unique) return failure(unique.error());
      has_grown = add(anchor, needed, specification) || has_grown;
    }
  }
  return has_grown;
}

/// Initializations run in the order of the profile, whatever depends on them.
void sort_by_profile(const Anchor& anchor,
                     Specification& specification,
                     std::size_t specified_count) {
  const auto added = std::span(specification.metrics).subspan(specified_count);
  std::ranges::sort(added, {}, [&](const MetricSpecification& metric) {
    return find(anchor, metric.unique_name);
  });
}

}  // namespace

RemapSelection resolve_selectors(const Anchor& anchor, RemapSelection selection) {
  for (auto* const selectors : {&selection.select, &selection.inclusive, &selection.exclusive}) {
    for (std::string& selector : *selectors) {
      const auto index = find_metric(anchor, selector);
      if (!index) continue;
      const std::string& name = anchor.metrics[*index].unique_name;
      if (find(anchor, name) != nullptr) selector = name;
    }
  }
  return selection;
}

Result<RemapProgram> compile_remap(const Anchor& anchor,
                                   Specification specification,
                                   const RemapSelection& selection) {
  const std::size_t specified_count = specification.metrics.size();
  std::vector<bool> was_derived;
  for (const MetricSpecification& metric : specification.metrics)
    was_derived.push_back(is_derived(metric.kind));
  copy_profile_scripts(anchor, specification);
  if (const Status chosen = add_chosen(anchor, selection, specification); !chosen)
    return failure(chosen.error());
  // Added metrics may need further ones.
  while (true) {
    sort_by_profile(anchor, specification, specified_count);
    auto program = cubepl::compile(specification);
    if (!program) return failure(program.error());
    if (const Status unique = check_inputs(anchor, *program); !unique)
      return failure(unique.error());
    const auto added = add_initializers(
        anchor, profile_metric_names(anchor, specification, was_derived), specification);
    if (!added) return failure(added.error());
    bool has_grown = *added;
    for (const cubepl::InputMetric& input : program->inputs)
      has_grown = add(anchor, input.name, specification) || has_grown;
    if (!has_grown) return RemapProgram{std::move(*program), specified_count};
  }
}

}  // namespace forebay::cube
