// SPDX-License-Identifier: Apache-2.0
// PlanTuner: tries plans in the first steps of a run, then uses the fastest. Every step is a
// measurement that costs nothing extra, because steps do not depend on writers and files.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "model/candidate_tuner.hpp"
#include "model/machine.hpp"
#include "write/plan.hpp"
#include "write/plan_chooser.hpp"
#include "write/tuning_profile.hpp"

namespace forebay::write {

/// Thread-safe. Compares durable time per byte. The constructor takes longer than the calls of
/// PlanChooser.
class PlanTuner final : public PlanChooser {
 public:
  struct Setup {
    WriteFacts facts;     ///< its machine must outlive only the constructor
    WritePlan requested;  ///< values that it sets never change
    WritePlan opened;     ///< the plan at opening, as plan_write() returned it; the default
    /// Of a profile. The one of the same machine, kernel class, ranks and nodes is continued. The
    /// class of steps of unknown size is known after the first one.
    std::vector<TuningEntry> earlier = {};
  };
  explicit PlanTuner(const Setup& setup);

  void record(const StepMeasurement& step) override;
  WritePlan choose(std::uint64_t ordinal) override;
  void handle_refusal(std::uint64_t ordinal) override;

  /// What this run has measured, for a tuning profile, with the best plan of all measurements. No
  /// value if nothing was measured.
  std::optional<TuningEntry> entry() const;

 private:
  struct Choice {
    std::size_t candidate = 0;
    bool is_measured = false;
  };

  void predict();
  void begin_search();
  void set_step_bytes(std::uint64_t bytes);
  std::size_t mark_measured(std::uint64_t ordinal);
  std::vector<std::size_t> pending() const;

  mutable std::mutex mutex_;
  WriteFacts facts_;
  std::optional<model::Machine> machine_;  ///< that of facts_
  std::vector<WritePlan> plans_;
  std::vector<double> predicted_s_;  ///< of each plan; 0: no model
  std::optional<Access> requested_access_;
  std::vector<TuningEntry> earlier_;
  model::CandidateTuner tuner_;
  std::map<std::uint64_t, Choice> choices_;  ///< by group of steps; the latest ones
  double reference_bytes_ = 0;               ///< of a step, to which times are scaled; 0: unknown
};

}  // namespace forebay::write
