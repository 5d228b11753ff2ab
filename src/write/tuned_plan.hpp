// SPDX-License-Identifier: Apache-2.0
// The plan of a tuning profile for a job, interpolated from other numbers of ranks if necessary.
// Pure.
#pragma once

#include <forebay/write_plan.hpp>

#include <optional>
#include <string>

#include "write/plan.hpp"
#include "write/tuning_profile.hpp"

namespace forebay::write {

enum class Confidence : std::uint8_t {
  kHigh,    ///< same ranks and nodes
  kMedium,  ///< ranks within a factor of 2
  kLow,     ///< ranks within a factor of 8, or the size of steps is unknown
};

/// "high", "medium", "low".
std::string_view name_of(Confidence confidence) noexcept;

struct TunedPlan {
  WritePlan plan;  ///< only tuned_values()
  Confidence confidence = Confidence::kLow;
  std::string reason;  ///< a clause: where the plan was measured, and the confidence
};

TuningScope scope_of(const WriteFacts& facts);

/// The plan for `scope` by the rules of the page; no value if no entry applies.
std::optional<TunedPlan> find_tuned_plan(const TuningProfile& profile, const TuningScope& scope);

/// A complete plan: plan_write() of `requested`, with values of the profile where it leaves them
/// open. No value if no entry applies, or if the values do not fit together.
std::optional<WritePlan> plan_by_profile(const TuningProfile& profile,
                                         const WriteFacts& facts,
                                         const WritePlan& requested);

}  // namespace forebay::write
