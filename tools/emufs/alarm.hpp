// SPDX-License-Identifier: Apache-2.0
// How much earlier than wished a thread that sleeps sets its alarm. A sleeper is woken late, on
// processors that had halted by much more than on busy ones; so the alarm learns from how late it
// rang, and what is left of the wait is spent awake.
#pragma once

#include <algorithm>
#include <chrono>

#include "model/storage_model.hpp"

namespace forebay::emufs {

/// Not for several threads at once.
class Alarm {
 public:
  model::Time lead() const noexcept { return lead_; }

  /// It rang so much after the moment it was set to. Steps up and down are such that five of six
  /// alarms ring in time.
  void rang(model::Time late) noexcept {
    lead_ = late > lead_ ? lead_ + 5 * kStep : lead_ - kStep;
    lead_ = std::clamp(lead_, kLeast, kMost);
  }

 private:
  static constexpr model::Time kStep = std::chrono::microseconds(1);
  static constexpr model::Time kLeast = std::chrono::microseconds(30);
  static constexpr model::Time kMost = std::chrono::microseconds(200);

  model::Time lead_ = kLeast;
};

}  // namespace forebay::emufs
