// SPDX-License-Identifier: Apache-2.0
// A remapping specification as its file says it: the tree of metrics with their attributes and the
// texts of their scripts. docs/formats/remapping.md is the page.
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

/// Longer ones are no specification that somebody wrote.
inline constexpr std::size_t kSpecificationBytesMax = std::size_t{16} << 20U;
/// Metrics within each other.
inline constexpr std::size_t kMetricDepthMax = 100;

/// Where a metric's values come from.
enum class MetricKind : std::uint8_t {
  kExclusive,
  kInclusive,
  kPrederivedExclusive,
  kPrederivedInclusive,
  kPostderived,
};
/// As written in the file.
std::string_view name_of(MetricKind kind) noexcept;
/// Whether an expression says what its values are.
bool is_derived(MetricKind kind) noexcept;

enum class Visibility : std::uint8_t { kNormal, kGhost };
enum class Conversion : std::uint8_t { kAllowed, kRefused };
/// How CubeLib goes about an expression; here each value is computed alone in any case.
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
  std::optional<std::size_t> parent;  ///< among Specification::metrics, before this one
  Script expression;
  Script init;
  Script plus;
  Script minus;
  Script aggregation;
};

struct Specification {
  std::string path;  ///< as errors name it
  std::string title;
  std::vector<std::string> mirrors;
  std::vector<MetricSpecification> metrics;  ///< in the order of the file: parents before children

  /// None if there is no such metric.
  std::optional<std::size_t> find(std::string_view unique_name) const;
};

/// Reads a specification. `path` is what errors name. Scripts are cut out, not looked into. The
/// Error is kDamage, kUnsupported or kLimit and names the line.
Result<Specification> parse_specification(std::string_view text, const std::string& path);

}  // namespace forebay::cubepl
