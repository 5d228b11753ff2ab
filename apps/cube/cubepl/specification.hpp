// SPDX-License-Identifier: Apache-2.0
// A remapping specification as in its file: the tree of metrics, their attributes and the texts of
// their scripts. docs/formats/remapping.md specifies it.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cube/cubepl/script.hpp"

namespace forebay::cubepl {

/// Maximum size; no manually written specification is longer.
inline constexpr std::size_t kSpecificationBytesMax = std::size_t{16} << 20U;
/// Maximum nesting of metrics.
inline constexpr std::size_t kMetricDepthMax = 100;

/// The origin of a metric's values.
enum class MetricKind : std::uint8_t {
  kExclusive,
  kInclusive,
  kPrederivedExclusive,
  kPrederivedInclusive,
  kPostderived,
};
/// The name as in the file.
std::string_view name_of(MetricKind kind) noexcept;
/// Whether the values are computed by an expression.
bool is_derived(MetricKind kind) noexcept;

enum class Visibility : std::uint8_t { kNormal, kGhost };
enum class Conversion : std::uint8_t { kAllowed, kForbidden };
/// How CubeLib evaluates an expression. Forebay computes each value alone in either case.
enum class Evaluation : std::uint8_t { kByRow, kByValue };

struct MetricSpecification {
  std::string unique_name;
  std::string display_name;
  std::string dtype;
  std::string uom;
  std::string value;  ///< "VOID": switched off
  std::string url;
  std::string description;
  MetricKind kind = MetricKind::kExclusive;
  Visibility visibility = Visibility::kNormal;
  Conversion conversion = Conversion::kAllowed;
  Evaluation evaluation = Evaluation::kByRow;
  std::optional<std::size_t> parent;  ///< index in Specification::metrics, less than the own index
  Script expression;
  Script init;
  Script plus;
  Script minus;
  Script aggregation;
};

struct Specification {
  std::string path;  ///< for errors
  std::string title;
  std::vector<std::string> mirrors;
  std::vector<MetricSpecification> metrics;  ///< in file order: parents before children

  /// Empty if there is no such metric.
  std::optional<std::size_t> find(std::string_view unique_name) const;
};

/// Parses a specification; errors name `path`. Scripts are extracted, not parsed. Fails with
/// kDamage, kUnsupported or kLimit, naming the line.
Result<Specification> parse_specification(std::string_view text, const std::string& path);

}  // namespace forebay::cubepl
