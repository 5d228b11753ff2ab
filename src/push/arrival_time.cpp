// SPDX-License-Identifier: Apache-2.0
#include "push/arrival_time.hpp"

#include <algorithm>
#include <cmath>

namespace forebay::push {

namespace {

constexpr double kErrorWeight = 1.0 / 16;
constexpr double kLevelWeight = 0.25;
constexpr double kTrendWeight = 0.05;
/// A longer period must have an error smaller by this factor.
constexpr double kGainMin = 0.9;
/// About 146 years.
constexpr double kTimeMaxNs = 4.6e18;

std::int64_t to_ns(double time_ns) noexcept {
  return static_cast<std::int64_t>(std::clamp(time_ns, 0.0, kTimeMaxNs));
}

}  // namespace

void ArrivalTime::Error::record(double error) noexcept {
  samples = std::min(samples + 1, std::uint32_t{1} << 20U);
  mean += (error - mean) * std::max(kErrorWeight, 1.0 / samples);
}

double ArrivalTime::mean_of_phase(std::size_t period, std::size_t phase) const noexcept {
  double total = 0;
  std::uint64_t repetitions = 0;
  for (std::size_t age = period - phase; repetitions < kRepetitionsMax && age <= count_;
       age += period) {
    total += intervals_[(count_ - age) % kIntervalsMax];
    ++repetitions;
  }
  return repetitions == 0 ? 0 : total / static_cast<double>(repetitions);
}

void ArrivalTime::update_trend(double interval) noexcept {
  if (count_ == 0) {
    level_ = interval;
    return;
  }
  const double expected = level_ + trend_;
  errors_[0].record(std::abs(interval - expected));
  const double level = expected + (interval - expected) * kLevelWeight;
  trend_ += (level - level_ - trend_) * kTrendWeight;
  level_ = level;
}

void ArrivalTime::observe(std::int64_t interval_ns) noexcept {
  const auto interval = static_cast<double>(std::max<std::int64_t>(interval_ns, 0));
  update_trend(interval);
  for (std::size_t period = 1; period <= kPeriodMax && period <= count_; ++period)
    errors_[period].record(std::abs(interval - mean_of_phase(period, 0)));
  intervals_[count_ % kIntervalsMax] = interval;
  ++count_;
}

std::size_t ArrivalTime::best_period() const noexcept {
  std::size_t best = 0;
  for (std::size_t period = 1; period <= kPeriodMax; ++period) {
    // An error that is the mean of less than a period misses part of the phases.
    const Error& error = errors_[period];
    if (error.samples < period || error.mean >= errors_[best].mean * kGainMin) continue;
    best = period;
  }
  return best;
}

double ArrivalTime::sum(std::size_t period, std::size_t accesses) const noexcept {
  const auto ahead = static_cast<double>(accesses);
  if (period == 0) return level_ * ahead + trend_ * ahead * (ahead + 1) / 2;
  const std::size_t repetitions = accesses / period;
  double total = 0;
  for (std::size_t phase = 0; phase < period; ++phase) {
    const std::size_t extra = phase < accesses % period ? 1 : 0;
    total += mean_of_phase(period, phase) * static_cast<double>(repetitions + extra);
  }
  return total;
}

std::optional<ArrivalTime::Estimate> ArrivalTime::predict(std::size_t accesses) const noexcept {
  if (count_ < 2) return std::nullopt;
  const std::size_t period = best_period();
  const double spread = errors_[period].mean * std::sqrt(static_cast<double>(accesses));
  return Estimate{.time_ns = to_ns(sum(period, accesses)), .spread_ns = to_ns(spread)};
}

}  // namespace forebay::push
