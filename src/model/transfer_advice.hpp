// SPDX-License-Identifier: Apache-2.0
// Recommended transfers for the storage of a machine, when a file is read or many files are
// written: request size, and number of requests that keeps all servers busy. Pure functions, so
// plans, the tuner and the simulator agree.
#pragma once

#include <cstdint>

#include "model/layout.hpp"
#include "model/machine.hpp"

namespace forebay::model {

/// Request size and number of requests in flight. All 0: no advice, because memory is less than one
/// request of 64 KiB.
struct TransferAdvice {
  std::uint64_t request_bytes = 0;  ///< a power of two; never spans two servers
  std::uint32_t requests = 0;       ///< in flight, over all servers of the file

  friend bool operator==(const TransferAdvice&, const TransferAdvice&) = default;
};

/// For `bytes` of a file, read once by one node with at most `memory_bytes` in flight, spread
/// evenly over servers. It considers the request sizes within 2 % of the best time by
/// transfer_time_us(), and returns the largest: fewer requests cost less. It adds half as many
/// requests as needed, so that a late reader keeps no server waiting. Takes microseconds.
TransferAdvice advise_reading(const Machine& machine,
                              const Layout& layout,
                              std::uint64_t bytes,
                              std::uint64_t memory_bytes);

/// The same for writing to all servers at once, in long files. No advice for a machine without
/// bandwidth limits.
TransferAdvice advise_writing(const Machine& machine, std::uint64_t memory_bytes);

}  // namespace forebay::model
