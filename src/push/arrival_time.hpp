// SPDX-License-Identifier: Apache-2.0
// ArrivalTime: predicts when the next accesses of a stream begin, from the intervals so far. It
// catches steady and drifting intervals, and periods such as bursts.
//
// Candidates are double exponential smoothing (Holt 1957), and for each period up to 32 the mean of
// the same phase in the last 4 periods. The one with the smallest recent error predicts. Cost:
// about 4 x 32 additions for each interval, and 2 KiB.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace forebay::push {

/// One thread at a time.
class ArrivalTime {
 public:
  struct Estimate {
    std::int64_t time_ns = 0;    ///< from the newest access
    std::int64_t spread_ns = 0;  ///< mean absolute error to expect
  };

  /// From the begin of an access to the begin of the next one. Negative intervals count as 0.
  void observe(std::int64_t interval_ns) noexcept;
  /// Begin of the access that is `accesses` ahead, 1 for the next one. No value before two
  /// intervals.
  std::optional<Estimate> predict(std::size_t accesses) const noexcept;
  std::size_t state_bytes() const noexcept { return sizeof(*this); }

 private:
  static constexpr std::size_t kPeriodMax = 32;
  static constexpr std::size_t kRepetitionsMax = 4;
  static constexpr std::size_t kIntervalsMax = kPeriodMax * kRepetitionsMax;

  /// Recent mean of the absolute error.
  struct Error {
    double mean = 0;
    std::uint32_t samples = 0;
    void record(double error) noexcept;
  };

  double mean_of_phase(std::size_t period, std::size_t phase) const noexcept;
  void update_trend(double interval) noexcept;
  std::size_t best_period() const noexcept;
  double sum(std::size_t period, std::size_t accesses) const noexcept;

  std::array<double, kIntervalsMax> intervals_ = {};  ///< number n is at n % kIntervalsMax
  std::uint64_t count_ = 0;
  double level_ = 0;
  double trend_ = 0;  ///< change of level_ from one interval to the next
  std::array<Error, kPeriodMax + 1> errors_ = {};  ///< of each period; [0]: of the trend
};

}  // namespace forebay::push
