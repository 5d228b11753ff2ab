// SPDX-License-Identifier: Apache-2.0
// Time that FUSE adds to a request, measured once when a mount begins. It is subtracted from the
// time of each reply, so that clients see the time of the machine and not the sum of both.
#pragma once

#include <cstdint>

#include "tools/emufs/reply_scheduler.hpp"

namespace forebay::emufs {

/// For one kind of request: the overhead of a small one, and of one of 1 MiB.
struct FuseOverheadBySize {
  FuseOverhead small;
  FuseOverhead large;
};

struct FuseOverheads {
  FuseOverheadBySize read;
  FuseOverheadBySize write;
  FuseOverhead name;

  /// Interpolates linearly in the bytes, between small and large.
  FuseOverhead for_request(model::RequestKind kind, std::uint64_t bytes) const noexcept;
};

/// The sizes at both ends of a line.
inline constexpr std::uint64_t kSmallRequestBytes = 4096;
inline constexpr std::uint64_t kLargeRequestBytes = 1U << 20U;

}  // namespace forebay::emufs
