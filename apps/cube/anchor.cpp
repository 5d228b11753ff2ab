// SPDX-License-Identifier: Apache-2.0
#include "cube/anchor.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

namespace forebay::cube {

namespace {

constexpr std::array<std::string_view, 5> kKinds{"EXCLUSIVE", "INCLUSIVE", "PREDERIVED_EXCLUSIVE",
                                                 "PREDERIVED_INCLUSIVE", "POSTDERIVED"};
constexpr std::size_t kListedMetrics = 20;
constexpr std::size_t kListedNameBytes = 80;

/// Lists the first metrics of an anchor, for an error; a metric without a name by its id.
std::string metric_list(const Anchor& anchor) {
  std::string list;
  for (const Metric& metric :
       std::span(anchor.metrics).first(std::min(anchor.metrics.size(), kListedMetrics))) {
    const std::string_view name = metric.unique_name;
    list += list.empty() ? "" : ", ";
    list += name.empty() ? fmt::format("#{}", metric.id)
                         : std::string(name.substr(0, kListedNameBytes));
    if (name.size() > kListedNameBytes) list += "...";
  }
  if (anchor.metrics.size() > kListedMetrics)
    list += fmt::format(" and {} others", anchor.metrics.size() - kListedMetrics);
  return list.empty() ? "none" : list;
}

}  // namespace

std::string_view name_of(MetricKind kind) noexcept {
  return kKinds[static_cast<std::size_t>(kind)];
}

Result<MetricKind> parse_metric_kind(std::string_view text) {
  const auto found = std::ranges::find(kKinds, text);
  if (found != kKinds.end()) return static_cast<MetricKind>(found - kKinds.begin());
  return failure({.kind = ErrorClass::kUnsupported,
                  .operation = "read anchor.xml",
                  .cause = fmt::format("'{}' is not a known kind of metric", text)});
}

bool is_selected(const Metric& metric, std::string_view selector) {
  return metric.unique_name == selector ||
         (selector.starts_with('#') && selector.substr(1) == std::to_string(metric.id));
}

Result<std::size_t> find_metric(const Anchor& anchor, std::string_view selector) {
  std::vector<std::size_t> found;
  for (std::size_t index = 0; index < anchor.metrics.size(); ++index)
    if (is_selected(anchor.metrics[index], selector)) found.push_back(index);
  if (found.size() == 1) return found.front();
  if (found.empty())
    return failure(
        {.kind = ErrorClass::kNotFound,
         .operation = "find a metric",
         .cause = fmt::format("no metric {}; the profile has {}", selector, metric_list(anchor))});
  std::string candidates;
  for (const std::size_t index : found) {
    const Metric& metric = anchor.metrics[index];
    candidates += fmt::format("{}#{} ({}, {})", candidates.empty() ? "" : ", ", metric.id,
                              name_of(metric.kind), metric.type.name());
  }
  return failure({.kind = ErrorClass::kInvalidArgument,
                  .operation = "find a metric",
                  .cause = fmt::format("{} metrics are named '{}'; write one of {}", found.size(),
                                       selector, candidates)});
}

}  // namespace forebay::cube
