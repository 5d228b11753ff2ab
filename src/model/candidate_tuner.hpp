// SPDX-License-Identifier: Apache-2.0
// CandidateTuner: finds the fastest of numbered candidates from few noisy measurements. A model
// predicts the cost of each candidate, and CostSurface learns how far measurements differ from it.
// Deterministic: no clock, no random device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace forebay::model {

class CostSurface;
struct CostEstimate;
struct MeasuredCost;

struct TunerCandidate {
  /// Logarithms of numbers, and 0 or 1 for kinds. Equally many for all candidates.
  std::vector<double> features;
  double predicted_s = 1;  ///< above 0; equal for all candidates: no model
};

struct TunerOptions {
  std::uint64_t seed = 0;
  std::uint32_t trials_max = 15;  ///< measurements before the best candidate is used
  std::uint32_t starts_max = 5;   ///< of these, the first ones, which no measurement directs
  /// A start has at most this many times the least predicted cost; the default is exempt.
  double start_cost_max = 3;
  /// A later trial has at most this many times the cost of the best, as far as is known.
  double trial_cost_max = 1.5;
  std::uint32_t reopen_interval = 50;  ///< least number of measurements between two searches
};

/// What an earlier search has measured of a candidate.
struct TunerHistory {
  std::vector<double> seconds = {};  ///< oldest first
  std::uint32_t failures = 0;
};

enum class TunerPhase : std::uint8_t {
  kStart,    ///< measures the default, the model's best, and scattered candidates
  kSearch,   ///< measures the candidate with the largest expected improvement
  kConfirm,  ///< measures the best ones again
  kUse,      ///< uses the best, and observes whether its cost changes
};

/// Used by one thread.
class CandidateTuner {
 public:
  /// Candidate 0 is the default. `candidates` must not be empty.
  CandidateTuner(std::span<const TunerCandidate> candidates, const TunerOptions& options);
  ~CandidateTuner();

  /// The candidate to measure next. `pending` lists candidates whose measurements will be recorded
  /// later. They are not proposed again before the search ends. Takes at most a few milliseconds
  /// for 400 candidates.
  std::size_t next(std::span<const std::size_t> pending = {}) const;

  /// Resumes the search of another tuner with the same candidates. `earlier` has one element for
  /// each. Keeps those of the default and the fastest ones, kRestoredMax in all. Call it before
  /// record().
  static constexpr std::size_t kRestoredMax = 32;
  void restore(std::span<const TunerHistory> earlier);

  /// Replaces the predicted costs, in seconds above 0, one for each candidate. Keeps measurements
  /// and failures. Call it before record() or restore().
  void predict(std::span<const double> seconds);

  /// Records the cost of a candidate, in seconds above 0. It need not be the proposed one.
  void record(std::size_t candidate, double seconds);

  /// Records that a measurement failed. A candidate that fails at its first trial, or twice in a
  /// row, is not proposed before 20 measurements of others. If several candidates fail in a row,
  /// the cause is elsewhere, and the next measurement readmits all of them.
  void record_failure(std::size_t candidate);

  /// The candidate with the least expected cost of those measured. The default if nothing was
  /// measured, and if the noise is too large for a preference.
  std::size_t best() const noexcept { return best_; }
  TunerPhase phase() const noexcept { return phase_; }

  /// The latest measurements of a candidate, oldest first: all, and those that record() received.
  std::span<const double> seconds(std::size_t candidate) const;
  std::span<const double> recorded_seconds(std::size_t candidate) const;
  /// Calls of record_failure().
  std::uint32_t failures(std::size_t candidate) const;

  /// Standard deviation of the logarithm of one measurement, as estimated.
  double noise() const;
  /// One clause for people: how many candidates were measured, and why best() is the best.
  std::string explanation() const;

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  struct History {
    std::vector<double> seconds = {};
    std::size_t restored = 0;  ///< of these, the first ones
    std::uint32_t failures = 0;
    std::uint32_t failures_in_a_row = 0;
    std::uint32_t excluded = 0;  ///< measurements until the candidate may be proposed again
  };
  struct Use {
    std::size_t candidate;
    double seconds;
    double deviation;  ///< of the logarithm from the expected one
  };

  std::vector<MeasuredCost> costs() const;
  bool is_measured(std::size_t candidate) const { return !histories_[candidate].seconds.empty(); }
  bool is_usable(std::size_t candidate) const { return histories_[candidate].excluded == 0; }
  void update();
  void end_search_if_done();
  void choose_best();
  bool is_preferred(std::size_t candidate) const;
  std::vector<std::size_t> best_first() const;
  std::size_t next_start(std::span<const std::size_t> pending) const;
  std::size_t next_improvement(std::span<const std::size_t> pending) const;
  std::size_t next_unconfirmed(std::span<const std::size_t> pending) const;
  void observe_use(std::size_t candidate, double seconds);
  void reopen();

  TunerOptions options_;
  std::unique_ptr<CostSurface> surface_;
  std::unique_ptr<CostEstimate> estimate_;  ///< null: nothing is measured
  std::vector<History> histories_;
  std::vector<std::size_t> starts_;
  std::vector<std::size_t> failing_;  ///< distinct candidates of the failures since a success
  TunerPhase phase_ = TunerPhase::kStart;
  std::size_t best_ = 0;
  std::uint32_t trials_ = 0;  ///< of this search
  std::uint32_t searches_ = 1;
  std::uint32_t used_ = 0;   ///< measurements since the end of the search
  std::vector<Use> recent_;  ///< latest measurements after the search
  double search_noise_ = 0;  ///< noise() at the end of the search
};

}  // namespace forebay::model
