// SPDX-License-Identifier: Apache-2.0
// Plans a remapped profile: its metrics, the origin of their values, and the rows that exist.
// Decided from descriptions alone, before any value is read.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cube/cubepl/bound_program.hpp"
#include "cube/profile.hpp"

namespace forebay::cube {

/// Metrics chosen in addition to the specification, as selectors of find_metric().
struct RemapSelection {
  std::vector<std::string> select;  ///< if not empty, only metrics of the three lists are written
  std::vector<std::string> inclusive;
  std::vector<std::string> exclusive;
};

enum class RowOrigin : std::uint8_t {
  kNoRows,     ///< no rows: derived, or all values are zero
  kCopied,     ///< rows of the profile, unchanged
  kConverted,  ///< rows of the profile, in the other flavor
  kComputed,   ///< rows of an expression
};

/// "none", "copied", "converted", "computed".
std::string_view name_of(RowOrigin origin) noexcept;

struct RemapMetric {
  Metric description;  ///< its id is its index in the new profile
  RowOrigin origin = RowOrigin::kNoRows;
  std::size_t source = 0;  ///< kComputed: number in the program; else index in the profile
  Index index;
};

/// A specification, compiled together with those expressions of the profile that its scripts need
/// or whose values `selection` requests. The first `specified_count` metrics of the program are
/// those of the specification.
struct RemapProgram {
  cubepl::Program program;
  std::size_t specified_count = 0;
};

/// Replaces ids in `selection` by names where the name is unique, because a specification has names
/// only.
RemapSelection resolve_selectors(const Anchor& anchor, RemapSelection selection);

/// `specification` may be empty. Fails as compile() does. Fails with kNotFound for a selected
/// metric that is in neither the specification nor the profile. Fails as find_metric() does for a
/// name that a script reads and several metrics of the profile have.
Result<RemapProgram> compile_remap(const Anchor& anchor,
                                   cubepl::Specification specification,
                                   const RemapSelection& selection);

/// The input of the plan.
struct RemapInput {
  const Profile& profile;
  const cubepl::BoundProgram& bound_program;
  std::size_t specified_count = 0;  ///< as in RemapProgram
};

/// Returns the metrics in the order of the new description: those of the specification, then the
/// others of the profile. Fails with kUnsupported for values that cannot be converted, unknown
/// types, and kept expressions whose meaning would change. Fails with kNotFound if a selected
/// metric is switched off.
Result<std::vector<RemapMetric>> plan_metrics(const RemapInput& input,
                                              const RemapSelection& selection);

}  // namespace forebay::cube
