// SPDX-License-Identifier: Apache-2.0
// System calls that a signal interrupts are made again. A library does not know which signals its
// program uses, and a signal is no failure of a file.
#pragma once

#include <cerrno>

namespace forebay {

/// A timer that fires each millisecond interrupts a call as often in ten seconds.
constexpr int kInterruptionsMax = 10'000;

/// Makes a system call until no signal interrupts it, kInterruptionsMax times at most. Returns the
/// result of the last call, and errno is from that call.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  for (int times = 0; times < kInterruptionsMax && result < 0 && errno == EINTR; ++times)
    result = call();
  return result;
}

}  // namespace forebay
