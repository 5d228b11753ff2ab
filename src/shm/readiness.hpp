// SPDX-License-Identifier: Apache-2.0
// Sleeping until one of a few descriptors has something to tell. For the side that waits for one
// thing at a time (a client); an agent waits for all of its clients in one place of its own.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/clock.hpp"

namespace forebay::shm {

inline constexpr std::size_t kWaitDescriptorsMax = 4;

/// Blocks until one of `descriptors` (kWaitDescriptorsMax at most; negative ones are left out) is
/// readable or at its end, and returns which: the first if there are several. Nothing if the
/// deadline passed. Signals do not end it.
std::optional<std::size_t> wait_readable(std::span<const int> descriptors,
                                         Deadline deadline) noexcept;

/// Blocks until `descriptor` takes more, or nobody is left to take it; false if the deadline
/// passed.
bool wait_writable(int descriptor, Deadline deadline) noexcept;

}  // namespace forebay::shm
