// SPDX-License-Identifier: Apache-2.0
// How much earlier than required a sleeping thread sets its timer. Threads wake late, on halted
// processors far more than on busy ones. The lead adapts to the observed delays; the rest of the
// wait is spent spinning.
#pragma once

#include <algorithm>
#include <chrono>

#include "model/storage_model.hpp"

namespace forebay::emufs {

/// Not thread-safe.
class WakeupCompensation {
 public:
  model::Time lead() const noexcept { return lead_; }

  /// A timer expired `late` after its set time. The steps up and down are such that five of six
  /// wake-ups are in time.
  void record_delay(model::Time late) noexcept {
    lead_ = late > lead_ ? lead_ + 5 * kStep : lead_ - kStep;
    lead_ = std::clamp(lead_, kMin, kMax);
  }

 private:
  static constexpr model::Time kStep = std::chrono::microseconds(1);
  static constexpr model::Time kMin = std::chrono::microseconds(30);
  static constexpr model::Time kMax = std::chrono::microseconds(200);

  model::Time lead_ = kMin;
};

}  // namespace forebay::emufs
