// SPDX-License-Identifier: Apache-2.0
// The description of a profile, anchor.xml, as a value: metrics, regions, call tree, system tree.
// Other elements are not parsed; replace_metrics() preserves them in the text.
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

/// The expressions of a derived metric; all empty for a measured one.
struct Expressions {
  std::string value;  ///< cubepl
  std::string init;   ///< cubeplinit
  std::string plus;   ///< cubeplaggr: plus, minus and aggr
  std::string minus;
  std::string aggregate;
  bool is_row_wise = true;

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
  /// Attributes other than id and type (viztype, convertible, cacheable).
  std::vector<std::pair<std::string, std::string>> attributes;
  std::uint32_t parent = kNone;  ///< index in Anchor::metrics
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
  std::uint32_t parent = kNone;  ///< index in Anchor::nodes
};

struct LocationGroup {
  std::uint32_t id = 0;
  std::string name;
  std::int64_t rank = 0;
  std::string type;
  std::uint32_t node = kNone;  ///< index in Anchor::nodes
};

struct Location {
  std::string name;
  std::int64_t rank = 0;
  std::string type;
  std::uint32_t group = kNone;  ///< index in Anchor::groups; kNone while unknown
};

/// A plain value. Trees are stored depth first, so a parent precedes its children.
struct Anchor {
  std::string version;
  std::vector<std::pair<std::string, std::string>> attributes;
  std::vector<std::string> mirrors;  ///< targets of "@mirror@" in URLs
  std::vector<Metric> metrics;
  std::vector<Region> regions;
  CallTree call_tree;
  std::vector<SystemNode> nodes;
  std::vector<LocationGroup> groups;
  std::vector<Location> locations;  ///< by id, which is the position of a value in a row

  std::uint32_t location_count() const noexcept {
    return static_cast<std::uint32_t>(locations.size());
  }
  /// Bytes of an uncompressed row of `metric`.
  std::uint64_t row_bytes(const Metric& metric) const noexcept {
    return metric.type.size_bytes() * locations.size();
  }
  /// The name of the region called by the call path at `index` of the tree.
  const std::string& region_name_at(std::uint32_t index) const {
    return regions[call_tree.at(index).region].name;
  }
};

/// The index of the metric that `selector` names: a unique name, or '#' and an id for names that
/// are empty or not unique. Fails with kNotFound if there is none, listing metrics, and with
/// kInvalidArgument for a name of several metrics, listing them.
Result<std::size_t> find_metric(const Anchor& anchor, std::string_view selector);

/// Whether `selector` names this metric of an anchor in which find_metric() finds it.
bool is_selected(const Metric& metric, std::string_view selector);

/// Decompresses `member` if it is a gzip stream, else returns it. Fails with kDamage for a broken
/// stream. Fails with kLimit if the text is longer than 4 GiB, or than both 16 MiB and 64 times the
/// compressed size. Fails with kLimit too if it has more tags and attributes than both 2^20 and 8
/// per compressed byte.
Result<std::string> decompress_anchor(std::string member);

/// Parses a description in the memory of `text`, and needs about as much memory again for the
/// result. Fails with kDamage or kUnsupported, as docs/formats/cubex.md specifies. Offsets are from
/// the beginning of `text`.
Result<Anchor> parse_anchor(std::string text);

/// Returns a complete anchor.xml.
std::string write_anchor(const Anchor& anchor);

/// Returns `text` with other metrics; everything else is preserved byte for byte. Fails with
/// kDamage if there is no element for metrics.
Result<std::string> replace_metrics(std::string_view text, const std::vector<Metric>& metrics);

}  // namespace forebay::cube
