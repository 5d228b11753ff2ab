// SPDX-License-Identifier: Apache-2.0
// The shared steady clock. It lives in one object so that handing it around never dangles.
#include "base/clock.hpp"

namespace forebay {

const SteadyClock& SteadyClock::shared() noexcept {
  static const SteadyClock clock;
  return clock;
}

}  // namespace forebay
