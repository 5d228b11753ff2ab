// SPDX-License-Identifier: Apache-2.0
#include "cube/compare_structure.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "cube/describe.hpp"

namespace forebay::cube {

namespace {

/// Metrics by unique name; those of one name in the order of the description.
using MetricIndices = std::map<std::string, std::vector<std::size_t>>;

MetricIndices indices_by_name(const Anchor& anchor) {
  MetricIndices indices;
  for (std::size_t i = 0; i < anchor.metrics.size(); ++i)
    indices[anchor.metrics[i].unique_name].push_back(i);
  return indices;
}

/// The name of the metric at `equals[n]`, with its id if `equals` lists several of that name.
std::string label_of(const Anchor& anchor, const std::vector<std::size_t>& equals, std::size_t n) {
  const Metric& metric = anchor.metrics[equals[n]];
  if (equals.size() == 1 && !metric.unique_name.empty()) return metric.unique_name;
  return fmt::format("{}#{}", metric.unique_name, metric.id);
}

/// Whether rows of both metrics can be compared.
bool is_comparable(const Metric& a, const Metric& b) {
  const bool types_match = a.type == b.type || (a.type.is_scalar() && b.type.is_scalar());
  return types_match && a.kind == b.kind && is_measured(a.kind);
}

class Comparison {
 public:
  Comparison(const Anchor& a, const Anchor& b) : a_(a), b_(b) {}

  StructureDifferences run() {
    compare_metrics();
    compare_call_trees();
    compare_locations();
    return std::move(differences_);
  }

 private:
  template <class... Arguments>
  void add_difference(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    differences_.messages.push_back(fmt::format(format, std::forward<Arguments>(arguments)...));
  }

  template <class Value>
  void compare(const std::string& what, const Value& a, const Value& b) {
    if (a != b) add_difference("{}: {} and {}", what, a, b);
  }

  void compare_metrics() {
    const MetricIndices places_b = indices_by_name(b_);
    const MetricIndices places_a = indices_by_name(a_);
    const std::vector<std::size_t> no_places;
    for (const auto& [name, in_a] : places_a) {
      const auto found = places_b.find(name);
      compare_equal_names(in_a, found == places_b.end() ? no_places : found->second);
    }
    for (const auto& [name, in_b] : places_b)
      if (!places_a.contains(name)) compare_equal_names(no_places, in_b);
  }

  /// Pairs metrics of one name by their order.
  void compare_equal_names(const std::vector<std::size_t>& in_a,
                           const std::vector<std::size_t>& in_b) {
    for (std::size_t n = 0; n < std::max(in_a.size(), in_b.size()); ++n) {
      if (n >= in_b.size()) {
        add_difference("metric {} is in the first file only", label_of(a_, in_a, n));
      } else if (n >= in_a.size()) {
        add_difference("metric {} is in the second file only", label_of(b_, in_b, n));
      } else {
        compare_metric(label_of(a_, in_a, n), in_a[n], in_b[n]);
      }
    }
  }

  void compare_metric(const std::string& label, std::size_t i, std::size_t j) {
    const Metric& a = a_.metrics[i];
    const Metric& b = b_.metrics[j];
    const std::string name = "metric " + label;
    compare(name + ", kind", name_of(a.kind), name_of(b.kind));
    compare(name + ", type", a.type.name(), b.type.name());
    compare(name + ", unit", a.unit, b.unit);
    compare(name + ", display name", a.display_name, b.display_name);
    if (a.expressions != b.expressions) add_difference("{}: expressions differ", name);
    if (is_comparable(a, b)) differences_.metrics.emplace_back(i, j);
  }

  void compare_call_trees() {
    const CallTree& a = a_.call_tree;
    const CallTree& b = b_.call_tree;
    if (a.size() != b.size()) {
      add_difference("call paths: {} and {}", a.size(), b.size());
      differences_.has_matching_rows = false;
    }
    for (std::uint32_t index = 0; index < std::min(a.size(), b.size()); ++index) {
      if (a.at(index).parent == b.at(index).parent &&
          a_.region_name_at(index) == b_.region_name_at(index)) {
        continue;
      }
      add_difference("call path {}: {} and {}; later call paths are not compared", index,
                     path_name(a_, index), path_name(b_, index));
      differences_.has_matching_rows = false;
      return;
    }
  }

  void compare_locations() {
    if (a_.locations.size() != b_.locations.size()) {
      add_difference("locations: {} and {}", a_.locations.size(), b_.locations.size());
      differences_.has_matching_rows = false;
      return;
    }
    for (std::uint32_t id = 0; id < a_.locations.size(); ++id) {
      if (location_name(a_, id) == location_name(b_, id)) continue;
      add_difference("location {}: {} and {}; other locations may differ", id,
                     location_name(a_, id), location_name(b_, id));
      return;
    }
  }

  const Anchor& a_;
  const Anchor& b_;
  StructureDifferences differences_;
};

}  // namespace

StructureDifferences compare_structure(const Anchor& a, const Anchor& b) {
  return Comparison(a, b).run();
}

}  // namespace forebay::cube
