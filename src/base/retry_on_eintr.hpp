// SPDX-License-Identifier: Apache-2.0
// retry_on_eintr(): repeats system calls that a signal interrupted. A library cannot control the
// signals of its program, and a signal is no failure of a file.
#pragma once

#include <cerrno>

namespace forebay {

/// A timer that fires every millisecond interrupts a call this often in ten seconds.
constexpr int kEintrRetriesMax = 10'000;

/// Repeats a system call while signals interrupt it, at most kEintrRetriesMax times. Returns the
/// result of the last call, with its errno.
template <class Call>
auto retry_on_eintr(Call call) {
  auto result = call();
  for (int times = 0; times < kEintrRetriesMax && result < 0 && errno == EINTR; ++times)
    result = call();
  return result;
}

}  // namespace forebay
