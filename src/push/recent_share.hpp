// SPDX-License-Identifier: Apache-2.0
// RecentShare: the share of recent predictions that came true, as an exponential moving average.
#pragma once

namespace forebay::push {

/// Tables of past accesses predict nothing while fewer of their recent predictions came true.
inline constexpr double kShareMin = 0.25;

class RecentShare {
 public:
  explicit constexpr RecentShare(double initial) noexcept : value_(initial) {}

  void record_hit() noexcept { value_ += (1 - value_) * kWeight; }
  void record_miss() noexcept { value_ -= value_ * kWeight; }
  /// 0 to 1.
  double value() const noexcept { return value_; }

 private:
  static constexpr double kWeight = 1.0 / 16;
  double value_;
};

}  // namespace forebay::push
