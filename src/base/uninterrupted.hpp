// SPDX-License-Identifier: Apache-2.0
// System calls that a signal interrupts are made again. A library does not know which signals its
// program uses, and nobody who reads a file wants to hear of them.
#pragma once

#include <cerrno>

namespace forebay {

/// Makes a system call until no signal interrupts it. Returns what the last one did, and errno is
/// that one's.
template <class Call>
auto uninterrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR)
    result = call();
  return result;
}

}  // namespace forebay
