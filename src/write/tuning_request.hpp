// SPDX-License-Identifier: Apache-2.0
// What a program requests about tuning when it creates a dataset, and the tuner for it.
#pragma once

#include <forebay/dataset_writer.hpp>
#include <forebay/error.hpp>

#include <memory>
#include <optional>
#include <string>

#include "base/config.hpp"
#include "write/plan.hpp"
#include "write/plan_tuner.hpp"
#include "write/tuning_profile.hpp"

namespace forebay::write {

struct TuningRequest {
  bool is_enabled = false;        ///< try plans in the first steps
  std::string profile_path = {};  ///< absolute; empty: no profile
  std::optional<TuningProfile> profile = std::nullopt;
};

/// Reads the profile that `options` names, or else the variable FOREBAY_TUNING. A missing file is
/// an Error unless the run is tuned, which creates it.
Result<TuningRequest> read_tuning_request(const DatasetOptions& options,
                                          const Environment& environment);

/// The complete plan for `facts`: that of the profile if one applies, else as plan_write().
Result<WritePlan> plan_with_profile(const TuningRequest& tuning,
                                    const WriteFacts& facts,
                                    const WritePlan& requested);

/// The tuner of a dataset; it resumes the search of an earlier run of the same scale. Null unless
/// tuning is enabled.
std::shared_ptr<PlanTuner> make_tuner(const TuningRequest& tuning, PlanTuner::Setup setup);

/// Adds what `tuner` has measured to the profile. Does nothing with an empty path, or without
/// measurements. Blocks.
Status save_tuning(const PlanTuner& tuner, const std::string& profile_path);

}  // namespace forebay::write
