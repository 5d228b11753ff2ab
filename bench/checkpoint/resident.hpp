// SPDX-License-Identifier: Apache-2.0
// How much a run makes a process grow. The kernel keeps the peak of resident memory and lets a
// process begin it anew, so that nothing between two samples is missed.
#pragma once

#include <cstdint>

namespace forebay::bench::checkpoint {

/// From its making on. One at a time in a process, as there is one peak.
class ResidentPeak {
 public:
  ResidentPeak();

  /// The peak since then, less what was resident then; 0 where the system does not tell.
  std::uint64_t grown_bytes() const;

 private:
  std::uint64_t before_bytes_;
};

}  // namespace forebay::bench::checkpoint
