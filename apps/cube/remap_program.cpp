// SPDX-License-Identifier: Apache-2.0
// Which scripts run: those of a specification, and those of the profile's own derived metrics as
// far as somebody asks for them.
#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "cube/anchor_text.hpp"
#include "cube/remap_metrics.hpp"

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

const Metric* find(const Anchor& anchor, std::string_view name) {
  const auto found = std::ranges::find(anchor.metrics, name, &Metric::unique_name);
  return found == anchor.metrics.end() ? nullptr : &*found;
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

Status check_names(const Anchor& anchor,
                   const Specification& specification,
                   const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (specification.find(name) || find(anchor, name) != nullptr) continue;
    return failure({.kind = ErrorClass::kNotFound,
                    .operation = "remap",
                    .path = specification.path,
                    .cause = fmt::format("there is no metric {} in the profile or the "
                                         "specification; forebay cube info lists the profile's",
                                         name)});
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

}  // namespace

Result<RemapProgram> compile_for(const Anchor& anchor,
                                 Specification specification,
                                 const RemapChoice& choice) {
  const std::size_t specified = specification.metrics.size();
  for (const auto* names : {&choice.select, &choice.inclusive, &choice.exclusive}) {
    const Status known = check_names(anchor, specification, *names);
    if (!known) return tl::unexpected<Error>(known.error());
  }
  take_scripts_of_profile(anchor, specification);
  for (const auto* names : {&choice.select, &choice.inclusive, &choice.exclusive})
    for (const std::string& name : *names)
      add(anchor, name, specification);
  // What is added may use further ones.
  while (true) {
    auto program = cubepl::compile(specification);
    if (!program) return tl::unexpected<Error>(program.error());
    bool has_grown = false;
    for (const cubepl::InputMetric& input : program->inputs)
      has_grown = add(anchor, input.name, specification) || has_grown;
    if (!has_grown) return RemapProgram{std::move(*program), specified};
  }
}

}  // namespace forebay::cube
