// SPDX-License-Identifier: Apache-2.0
// The description of a profile, anchor.xml, as a value: metrics, regions, call tree, system tree.
// What is not understood stays in the text, and comes back where an anchor is rewritten.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cube/call_tree.hpp"
#include "cube/value_type.hpp"

namespace forebay::cube {

std::string_view name_of(MetricKind kind) noexcept;
/// Fails with kUnsupported, naming `text`.
Result<MetricKind> parse_metric_kind(std::string_view text);

/// How a derived metric computes; all empty for measured ones.
struct Expressions {
  std::string value;  ///< cubepl
  std::string init;   ///< cubeplinit
  std::string plus;   ///< cubeplaggr of its three kinds
  std::string minus;
  std::string aggregate;
  bool row_wise = true;

  friend bool operator==(const Expressions&, const Expressions&) noexcept = default;
};

struct Metric {
  std::uint32_t id = 0;
  MetricKind kind = MetricKind::kExclusive;
  ValueType type;
  std::string unique_name;
  std::string display_name;
  std::string unit;
  std::string url;
  std::string description;
  Expressions expressions;
  /// Attributes besides id and type (viztype, convertible, cacheable).
  std::vector<std::pair<std::string, std::string>> attributes;
  std::uint32_t parent = kNone;  ///< its place among the metrics
};

struct Region {
  std::uint32_t id = 0;
  std::string name;
  std::string mangled_name;
  std::string module;
  std::string paradigm;
  std::string role;
  std::string url;
  std::string description;
  std::int64_t begin_line = -1;
  std::int64_t end_line = -1;
};

struct SystemNode {
  std::uint32_t id = 0;
  std::string name;
  std::string class_name;
  std::uint32_t parent = kNone;  ///< its place among the nodes
};

struct LocationGroup {
  std::uint32_t id = 0;
  std::string name;
  std::int64_t rank = 0;
  std::string type;
  std::uint32_t node = kNone;  ///< its place among the nodes
};

struct Location {
  std::string name;
  std::int64_t rank = 0;
  std::string type;
  std::uint32_t group = kNone;  ///< its place among the groups; kNone while unknown
};

/// A plain value. Lists of trees are depth first, so a parent is before its children.
struct Anchor {
  std::string version;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<std::string> mirrors;  ///< where "@mirror@" in urls may point
  std::vector<Metric> metrics;
  std::vector<Region> regions;
  CallTree call_tree;
  std::vector<SystemNode> nodes;
  std::vector<LocationGroup> groups;
  std::vector<Location> locations;  ///< by id, which is their place in a row

  std::uint32_t location_count() const noexcept {
    return static_cast<std::uint32_t>(locations.size());
  }
  /// Bytes of a row of `metric`.
  std::uint64_t row_bytes(const Metric& metric) const noexcept {
    return metric.type.size_bytes() * locations.size();
  }
  /// The region's name of the call path at `place`.
  const std::string& name_at(std::uint32_t place) const {
    return regions[call_tree.at(place).region].name;
  }
};

/// The place of the metric that `selector` means: a unique name, or '#' and an id, for names that
/// are empty or not unique. Fails with kNotFound, and with kInvalidArgument for a name that several
/// metrics have, listing them.
Result<std::size_t> find_metric(const Anchor& anchor, std::string_view selector);

/// Whether `selector` means this metric of an anchor in which find_metric() finds it.
bool is_selected(const Metric& metric, std::string_view selector);

/// Unpacks `member` if it is a gzip stream, else gives it back. Fails with kDamage, and kLimit
/// above 4 GiB, above 16 MiB that are 64 times the packed size, and for more than 2^20 tags and
/// attributes that are 8 for each packed byte.
Result<std::string> anchor_text(std::string member);

/// Reads a description, for which it needs `text` as memory, and about as much again for what it
/// gives. Fails with kDamage or kUnsupported as the page says; offsets are from the
/// beginning of `text`.
Result<Anchor> parse_anchor(std::string text);

/// A whole anchor.xml.
std::string write_anchor(const Anchor& anchor);

/// `text`, with other metrics and all else as it was, byte for byte. Fails with kDamage if it has
/// no element for metrics.
Result<std::string> with_metrics(std::string_view text, const std::vector<Metric>& metrics);

}  // namespace forebay::cube
