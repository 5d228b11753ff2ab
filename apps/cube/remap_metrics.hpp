// SPDX-License-Identifier: Apache-2.0
// What a remapped profile consists of: its metrics, where the values of each come from, and which
// rows it has. Decided before any value is read, from descriptions alone.
#pragma once

#include <forebay/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cube/cubepl/derivation.hpp"
#include "cube/profile.hpp"

namespace forebay::cube {

/// What is asked for besides the specification: metrics, as find_metric() takes them.
struct RemapChoice {
  std::vector<std::string> select;  ///< nothing else shall be written; empty: all
  std::vector<std::string> inclusive;
  std::vector<std::string> exclusive;
};

enum class RowOrigin : std::uint8_t {
  kNoRows,     ///< there are no rows: derived, or all values are zero
  kCopied,     ///< the profile's as they are
  kConverted,  ///< the profile's in the other flavour
  kComputed,   ///< those of an expression
};

/// "none", "copied", "converted", "computed".
std::string_view name_of(RowOrigin origin) noexcept;

struct RemapMetric {
  Metric description;  ///< its id is its place in the new profile
  RowOrigin origin = RowOrigin::kNoRows;
  std::size_t source = 0;  ///< kComputed: its number in the program; else its place in the profile
  Index index;
};

/// A specification whose scripts are compiled together with those expressions of the profile that
/// they need or that `choice` wants to be computed. The first `specified` metrics of the program
/// are those of the specification.
struct RemapProgram {
  cubepl::Program program;
  std::size_t specified = 0;
};

/// `choice` with names in place of ids, where a name is that of one metric: a specification has
/// names alone.
RemapChoice by_name(const Anchor& anchor, RemapChoice choice);

/// `specification` may be empty. Fails as compile() does, with kNotFound for a chosen metric that
/// is neither in it nor in the profile, and as find_metric() does for a name that a script reads
/// and several metrics of the profile have.
Result<RemapProgram> compile_for(const Anchor& anchor,
                                 cubepl::Specification specification,
                                 const RemapChoice& choice);

/// What the metrics are decided from.
struct RemapInput {
  const Profile& profile;
  const cubepl::Derivation& derivation;
  std::size_t specified = 0;  ///< as in RemapProgram
};

/// The metrics in the order of the new description: those of the specification, then the others of
/// the profile. Fails with kUnsupported for values that cannot be converted, types that are not
/// known, and expressions that shall stay and would mean something else; with kNotFound if a chosen
/// metric is switched off.
Result<std::vector<RemapMetric>> plan_metrics(const RemapInput& input, const RemapChoice& choice);

}  // namespace forebay::cube
