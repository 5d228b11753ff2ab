// SPDX-License-Identifier: Apache-2.0
// The shared steady clock: one static object, so references to it never dangle.
#include "base/clock.hpp"

namespace forebay {

const SteadyClock& SteadyClock::shared() noexcept {
  static const SteadyClock clock;
  return clock;
}

}  // namespace forebay
