// SPDX-License-Identifier: Apache-2.0
#include "write/tuning_request.hpp"

#include <algorithm>
#include <utility>

#include "base/absolute_path.hpp"
#include "write/tuned_plan.hpp"

namespace forebay::write {

namespace {

constexpr std::string_view kTuningVariable = "FOREBAY_TUNING";

std::string profile_path_of(const DatasetOptions& options, const Environment& environment) {
  if (!options.profile.empty()) return absolute_path(options.profile);
  const auto found =
      std::ranges::find(environment, kTuningVariable, &Environment::value_type::first);
  if (found == environment.end() || found->second.empty()) return {};
  return absolute_path(found->second);
}

}  // namespace

Result<TuningRequest> read_tuning_request(const DatasetOptions& options,
                                          const Environment& environment) {
  TuningRequest request{.is_enabled = options.tune,
                        .profile_path = profile_path_of(options, environment)};
  if (request.profile_path.empty()) return request;
  auto profile = load_tuning_profile(request.profile_path);
  if (!profile) return failure(profile.error());
  if (!*profile && !options.tune)
    return failure({.kind = ErrorClass::kNotFound,
                    .operation = "read tuning profile",
                    .path = request.profile_path,
                    .cause = "this file does not exist; write its path, or request "
                             "tuning, which creates it"});
  request.profile = std::move(*profile);
  return request;
}

Result<WritePlan> plan_with_profile(const TuningRequest& tuning,
                                    const WriteFacts& facts,
                                    const WritePlan& requested) {
  if (tuning.profile)
    if (auto plan = plan_by_profile(*tuning.profile, facts, requested)) return *std::move(plan);
  return plan_write(facts, requested);
}

std::shared_ptr<PlanTuner> make_tuner(const TuningRequest& tuning, PlanTuner::Setup setup) {
  if (!tuning.is_enabled) return nullptr;
  if (tuning.profile) setup.earlier = tuning.profile->entries;
  return std::make_shared<PlanTuner>(setup);
}

Status save_tuning(const PlanTuner& tuner, const std::string& profile_path) {
  if (profile_path.empty()) return {};
  const auto entry = tuner.entry();
  return entry ? update_tuning_profile(profile_path, {*entry}) : Status();
}

}  // namespace forebay::write
