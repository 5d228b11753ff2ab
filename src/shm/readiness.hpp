// SPDX-License-Identifier: Apache-2.0
// Waits until one of a few descriptors is ready. For clients, which wait for few descriptors. An
// agent watches the descriptors of all its clients by epoll.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/clock.hpp"

namespace forebay::shm {

inline constexpr std::size_t kWaitDescriptorsMax = 4;

/// Blocks until one of `descriptors` (at most kWaitDescriptorsMax; negative ones are ignored) is
/// readable, or its other end is closed. Returns its index: the first if several are ready. No
/// value if the deadline passed. Signals do not interrupt it.
std::optional<std::size_t> wait_readable(std::span<const int> descriptors,
                                         Deadline deadline) noexcept;

/// Blocks until `descriptor` is writable, or its other end is closed; false if the deadline passed.
bool wait_writable(int descriptor, Deadline deadline) noexcept;

}  // namespace forebay::shm
