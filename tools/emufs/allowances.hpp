// SPDX-License-Identifier: Apache-2.0
// What FUSE itself takes of a request, measured once when a mount begins: it is taken off the time
// of each answer, so that clients see the time of the machine and not the sum of both.
#pragma once

#include <cstdint>

#include "tools/emufs/timekeeper.hpp"

namespace forebay::emufs {

/// For one kind of request: that of a small one, and that of one of 1 MiB.
struct AllowanceLine {
  Allowance small;
  Allowance large;
};

struct Allowances {
  AllowanceLine read;
  AllowanceLine write;
  Allowance name;

  /// Between small and large, in proportion to the bytes.
  Allowance of(model::RequestKind kind, std::uint64_t bytes) const noexcept;
};

/// The sizes at both ends of a line.
inline constexpr std::uint64_t kSmallRequestBytes = 4096;
inline constexpr std::uint64_t kLargeRequestBytes = 1U << 20U;

}  // namespace forebay::emufs
