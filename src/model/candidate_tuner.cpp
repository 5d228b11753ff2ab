// SPDX-License-Identifier: Apache-2.0
// Costs are logarithms of seconds, so that differences are ratios.
#include "model/candidate_tuner.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <ranges>
#include <utility>

#include "base/assert.hpp"
#include "model/cost_surface.hpp"
#include "model/tuner_starts.hpp"

namespace forebay::model {

namespace {

/// Measurements of a candidate that are kept: enough for its mean, few enough to follow changes.
constexpr std::size_t kMeasurementsKept = 8;
/// Candidates that are measured again before one is used, and how often each is measured.
constexpr std::size_t kConfirmed = 3;
constexpr std::size_t kConfirmedMeasurements = 2;
/// Only candidates of about the best cost are measured again.
constexpr double kConfirmedCostMax = 1.25;
/// The search ends when the expected improvement is below this part of the noise.
constexpr double kImprovementMin = 0.05;
/// A difference of costs with this standard deviation must be one deviation to count. The number of
/// deviations grows in proportion: small noise permits small gains, and with large noise the best
/// of several measurements is mostly luck.
constexpr double kDifferenceDeviation = 0.15;
/// Least advantage for which the plan in use is replaced.
constexpr double kReplacementMin = 0.05;
/// A candidate that was measured before is excluded after this many failures.
constexpr std::uint32_t kFailuresInARow = 2;
/// Measurements of others until it may be proposed again: what made it fail may be over.
constexpr std::uint32_t kExclusion = 20;
/// The cost has changed if this many of the latest measurements are off, by this much.
constexpr std::size_t kChangeWindow = 4;
constexpr std::size_t kChangeCount = 3;
constexpr double kChangeDeviations = 3;
constexpr double kChangeRatio = 1.3;
/// Measurements of a search after a change: it begins with all that was learned before.
constexpr std::uint32_t kReopenedTrials = 8;
/// A candidate is avoided if its expected cost plus this many deviations exceeds the limit.
constexpr double kCaution = 0.5;

/// Mean of max(0, best - cost) for a normally distributed cost.
double expected_improvement(double best, double mean, double deviation) {
  if (deviation <= 0) return std::max(0.0, best - mean);
  const double z = (best - mean) / deviation;
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi);
  const double probability = std::erfc(-z / std::numbers::sqrt2) / 2;
  return (best - mean) * probability + deviation * density;
}

bool contains(std::span<const std::size_t> candidates, std::size_t candidate) {
  return std::ranges::find(candidates, candidate) != candidates.end();
}

std::string percent_text(double ratio) { return std::to_string(std::lround(100 * ratio)) + " %"; }

}  // namespace

CandidateTuner::CandidateTuner(std::span<const TunerCandidate> candidates,
                               const TunerOptions& options)
    : options_(options),
      surface_(std::make_unique<CostSurface>(candidates)),
      histories_(candidates.size()),
      starts_(choose_starts(*surface_, candidates.size(), options)) {}

CandidateTuner::~CandidateTuner() = default;

std::span<const double> CandidateTuner::seconds(std::size_t candidate) const {
  return histories_[candidate].seconds;
}

std::span<const double> CandidateTuner::recorded_seconds(std::size_t candidate) const {
  return seconds(candidate).subspan(histories_[candidate].restored);
}

std::uint32_t CandidateTuner::failures(std::size_t candidate) const {
  return histories_[candidate].failures;
}

double CandidateTuner::noise() const { return surface_->noise(); }

std::vector<MeasuredCost> CandidateTuner::costs() const {
  std::vector<MeasuredCost> costs;
  for (std::size_t i = 0; i < histories_.size(); ++i) {
    if (!is_measured(i)) continue;
    MeasuredCost cost{.candidate = i, .count = static_cast<double>(histories_[i].seconds.size())};
    for (const double seconds : histories_[i].seconds)
      cost.mean += std::log(seconds) / cost.count;
    for (const double seconds : histories_[i].seconds)
      cost.squares += std::pow(std::log(seconds) - cost.mean, 2);
    costs.push_back(cost);
  }
  return costs;
}

std::size_t CandidateTuner::next(std::span<const std::size_t> pending) const {
  if (phase_ == TunerPhase::kUse) return best_;
  std::size_t candidate = next_start(pending);
  const bool is_searching = trials_ + pending.size() + kConfirmed < options_.trials_max;
  if (candidate == kNone && phase_ != TunerPhase::kConfirm && is_searching)
    candidate = next_improvement(pending);
  if (candidate == kNone) candidate = next_unconfirmed(pending);
  return candidate == kNone ? best_ : candidate;
}

std::size_t CandidateTuner::next_start(std::span<const std::size_t> pending) const {
  const auto is_open = [&](std::size_t start) {
    return !is_measured(start) && is_usable(start) && !contains(pending, start);
  };
  const auto found = std::ranges::find_if(starts_, is_open);
  return found == starts_.end() ? kNone : *found;
}

/// The candidate with the largest expected improvement that is worth a trial; else kNone.
std::size_t CandidateTuner::next_improvement(std::span<const std::size_t> pending) const {
  if (!estimate_) return kNone;
  const CostEstimate estimate = pending.empty() ? *estimate_ : surface_->estimate(costs(), pending);
  const double least = estimate.mean[best_first().front()];
  const double limit = least + std::log(options_.trial_cost_max);
  std::size_t chosen = kNone;
  double most = kImprovementMin * noise();
  for (std::size_t i = 0; i < histories_.size(); ++i) {
    const double cautious = estimate.mean[i] + kCaution * estimate.deviation[i];
    if (!is_usable(i) || is_measured(i) || contains(pending, i) || cautious > limit) continue;
    const double improvement = expected_improvement(least, estimate.mean[i], estimate.deviation[i]);
    if (improvement <= most) continue;
    most = improvement;
    chosen = i;
  }
  return chosen;
}

/// Measured, usable candidates by expected cost. If no such candidate exists, the default.
std::vector<std::size_t> CandidateTuner::best_first() const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < histories_.size(); ++i)
    if (is_measured(i) && is_usable(i)) order.push_back(i);
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(estimate_->mean[i], i); });
  if (order.empty()) order.push_back(0);
  return order;
}

/// The next of the best candidates that has too few measurements; else kNone.
std::size_t CandidateTuner::next_unconfirmed(std::span<const std::size_t> pending) const {
  if (!estimate_) return kNone;
  std::vector<std::size_t> order = best_first();
  const double limit = estimate_->mean[order.front()] + std::log(kConfirmedCostMax);
  order.resize(std::min(kConfirmed, order.size()));
  if (is_measured(0) && is_usable(0)) order.push_back(0);
  for (const std::size_t candidate : order) {
    const auto coming = static_cast<std::size_t>(std::ranges::count(pending, candidate));
    const std::size_t measurements = histories_[candidate].seconds.size() + coming;
    if (measurements < kConfirmedMeasurements && estimate_->mean[candidate] <= limit)
      return candidate;
  }
  return kNone;
}

void CandidateTuner::restore(std::span<const TunerHistory> earlier) {
  FOREBAY_ASSERT(earlier.size() == histories_.size());
  std::vector<std::pair<double, std::size_t>> fastest_first;  // after the default
  for (std::size_t i = 0; i < earlier.size(); ++i) {
    if (!earlier[i].seconds.empty())
      fastest_first.emplace_back(i == 0 ? 0 : std::ranges::min(earlier[i].seconds), i);
    else if (earlier[i].failures > 0)
      histories_[i].excluded = kExclusion;
  }
  std::ranges::sort(fastest_first);
  fastest_first.resize(std::min(fastest_first.size(), kRestoredMax));
  for (const std::size_t i : fastest_first | std::views::values) {
    const std::vector<double>& seconds = earlier[i].seconds;
    const std::size_t kept = std::min(seconds.size(), kMeasurementsKept);
    histories_[i].seconds.assign(seconds.end() - static_cast<std::ptrdiff_t>(kept), seconds.end());
    histories_[i].restored = kept;
    trials_ += static_cast<std::uint32_t>(kept);
  }
  if (trials_ == 0) return;
  --trials_;  // update() counts one
  update();
}

void CandidateTuner::predict(std::span<const double> seconds) {
  std::vector<double> costs;
  for (const double one : seconds)
    costs.push_back(std::log(one));
  surface_->set_predicted(costs);
  starts_ = choose_starts(*surface_, histories_.size(), options_);
}

void CandidateTuner::record(std::size_t candidate, double seconds) {
  FOREBAY_ASSERT(candidate < histories_.size());
  FOREBAY_ASSERT(seconds > 0);
  for (const std::size_t failed : failing_)
    if (failing_.size() > 1) histories_[failed].excluded = 0;
  failing_.clear();
  for (History& other : histories_)
    if (other.excluded > 0) --other.excluded;
  History& history = histories_[candidate];
  history.excluded = 0;
  history.failures_in_a_row = 0;
  history.seconds.push_back(seconds);
  if (history.seconds.size() > kMeasurementsKept) {
    history.seconds.erase(history.seconds.begin());
    if (history.restored > 0) --history.restored;
  }
  if (phase_ == TunerPhase::kUse && candidate == best_) observe_use(candidate, seconds);
  update();
}

void CandidateTuner::record_failure(std::size_t candidate) {
  FOREBAY_ASSERT(candidate < histories_.size());
  History& history = histories_[candidate];
  ++history.failures;
  ++history.failures_in_a_row;
  if (is_measured(candidate) && history.failures_in_a_row < kFailuresInARow) return;
  history.excluded = kExclusion;
  if (!contains(failing_, candidate)) failing_.push_back(candidate);
  update();
}

void CandidateTuner::update() {
  const std::vector<MeasuredCost> measured = costs();
  if (measured.empty()) return;
  surface_->fit(measured);
  estimate_ = std::make_unique<CostEstimate>(surface_->estimate(measured));
  choose_best();
  if (phase_ == TunerPhase::kUse) return;
  ++trials_;
  end_search_if_done();
}

void CandidateTuner::choose_best() {
  const std::size_t leading = best_first().front();
  const bool is_in_use = phase_ == TunerPhase::kUse && is_usable(best_);
  const double advantage = estimate_->mean[best_] - estimate_->mean[leading];
  if (is_in_use && advantage < kReplacementMin) return;
  best_ = is_preferred(leading) ? leading : 0;
}

/// Whether the candidate is faster than the default beyond the noise.
bool CandidateTuner::is_preferred(std::size_t candidate) const {
  if (candidate == 0 || !is_measured(0) || !is_usable(0)) return true;
  const double advantage = estimate_->mean[0] - estimate_->mean[candidate];
  const double deviation = surface_->difference_deviation(costs(), 0, candidate);
  return advantage > deviation * deviation / kDifferenceDeviation;
}

void CandidateTuner::end_search_if_done() {
  phase_ = TunerPhase::kStart;
  if (trials_ < options_.trials_max && next_start({}) != kNone) return;
  phase_ = TunerPhase::kSearch;
  if (trials_ + kConfirmed < options_.trials_max && next_improvement({}) != kNone) return;
  phase_ = TunerPhase::kConfirm;
  if (trials_ < options_.trials_max && next_unconfirmed({}) != kNone) return;
  phase_ = TunerPhase::kUse;
  search_noise_ = noise();
}

/// Reopens the search if the latest costs are mostly off to the same side. Compares with the noise
/// of the search, because a change increases the estimated noise.
void CandidateTuner::observe_use(std::size_t candidate, double seconds) {
  ++used_;
  recent_.push_back({candidate, seconds, std::log(seconds) - estimate_->mean[candidate]});
  if (recent_.size() > kChangeWindow) recent_.erase(recent_.begin());
  const double limit = std::max(kChangeDeviations * search_noise_, std::log(kChangeRatio));
  const auto is_slower = [limit](const Use& use) { return use.deviation > limit; };
  const auto is_faster = [limit](const Use& use) { return -use.deviation > limit; };
  const auto off = std::max(std::ranges::count_if(recent_, is_slower),
                            std::ranges::count_if(recent_, is_faster));
  const bool is_allowed = searches_ == 1 || used_ >= options_.reopen_interval;
  if (std::cmp_less(off, kChangeCount) || !is_allowed) return;
  std::erase_if(recent_, [&](const Use& use) { return !is_slower(use) && !is_faster(use); });
  reopen();
}

/// The learned costs become the predicted ones. Keeps only the measurements since the change.
void CandidateTuner::reopen() {
  surface_->set_predicted(estimate_->mean);
  starts_ = best_first();
  starts_.resize(std::min(kConfirmed, starts_.size()));
  for (History& history : histories_) {
    history.seconds.clear();
    history.restored = 0;
  }
  for (const Use& use : recent_)
    histories_[use.candidate].seconds.push_back(use.seconds);
  recent_.clear();
  options_.trials_max = std::min(options_.trials_max, kReopenedTrials);
  phase_ = TunerPhase::kStart;
  trials_ = 0;
  used_ = 0;
  ++searches_;
}

std::string CandidateTuner::explanation() const {
  const auto measured = std::ranges::count_if(
      histories_, [](const History& history) { return !history.seconds.empty(); });
  if (measured == 0) return "nothing is measured yet";
  if (measured == 1) return "one plan is measured so far";
  std::string text = phase_ == TunerPhase::kUse ? "best of " : "so far the best of ";
  text += std::to_string(measured) + " measured plans";
  if (best_ == 0) {
    text +=
        ", none of which is faster than the default beyond the noise of " + percent_text(noise());
  } else if (is_measured(0)) {
    text += ", " + percent_text(1 - std::exp(estimate_->mean[best_] - estimate_->mean[0])) +
            " below the default, with noise of " + percent_text(noise());
  }
  if (searches_ > 1)
    text += "; the cost of the plan in use changed, so the search was repeated " +
            std::to_string(searches_ - 1) + (searches_ == 2 ? " time" : " times");
  return text;
}

}  // namespace forebay::model
