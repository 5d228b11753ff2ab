// SPDX-License-Identifier: Apache-2.0
// ReaderCountEstimator: estimates how many clients of a session read each byte of it. It counts
// splinters that are loaded again, and retained splinters that are not used again.
#pragma once

#include <cstdint>

namespace forebay::read {

class ReaderCountEstimator {
 public:
  /// The estimate starts at 1 and never exceeds `limit`.
  explicit ReaderCountEstimator(std::uint32_t limit) noexcept : limit_(limit) {}

  /// How many times a splinter is served before its memory is reused.
  std::uint32_t value() const noexcept { return value_; }

  /// Counts a splinter that is loaded again after it was consumed and evicted.
  void record_reload() noexcept {
    if (value_ < limit_ && ++reloads_ >= kObservationsMin) set(value_ + 1);
  }
  /// Counts an evicted splinter that had been served one time less than value().
  void record_unused_retention() noexcept {
    if (value_ > 1 && ++unused_retentions_ >= kObservationsMin) set(value_ - 1);
  }

 private:
  static constexpr std::uint32_t kObservationsMin = 8;

  void set(std::uint32_t value) noexcept {
    value_ = value;
    reloads_ = 0;
    unused_retentions_ = 0;
  }

  std::uint32_t limit_;
  std::uint32_t value_ = 1;
  std::uint32_t reloads_ = 0;
  std::uint32_t unused_retentions_ = 0;
};

}  // namespace forebay::read
