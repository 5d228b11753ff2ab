// SPDX-License-Identifier: Apache-2.0
// How a file on the storage of a machine is best read, and how much of many files is best written
// at once: how large requests are, and how many keep all servers busy. Pure functions, so that
// plans, the tuner and the simulator agree.
#pragma once

#include <cstdint>

#include "model/layout.hpp"
#include "model/machine.hpp"

namespace forebay::model {

/// What to ask for, and how much of it at once. All 0: no advice, as memory is less than 64 KiB,
/// one request.
struct TransferAdvice {
  std::uint64_t request_bytes = 0;  ///< a power of two; never for two servers at a time
  std::uint32_t requests = 0;       ///< under way, over all servers that the file lies on

  friend bool operator==(const TransferAdvice&, const TransferAdvice&) = default;
};

/// For `bytes` of a file, read once by one node that has at most `memory_bytes` of them under way,
/// each server its share. Of the request sizes that come within a fiftieth of the best time by
/// transfer_time_us(), the largest: fewer requests cost everybody less. Of that size half as many
/// more as it takes, so that a reader that is late keeps no server waiting. Takes microseconds.
TransferAdvice advise_reading(const Machine& machine,
                              const Layout& layout,
                              std::uint64_t bytes,
                              std::uint64_t memory_bytes);

/// The same for writing to all servers at once, in long files. No advice for a machine without
/// limits of bandwidth.
TransferAdvice advise_writing(const Machine& machine, std::uint64_t memory_bytes);

}  // namespace forebay::model
