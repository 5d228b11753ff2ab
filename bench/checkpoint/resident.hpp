// SPDX-License-Identifier: Apache-2.0
// Growth of a process's resident memory in a run. The kernel keeps the peak and allows a process to
// reset it, so there are no gaps as between samples.
#pragma once

#include <cstdint>

namespace forebay::bench::checkpoint {

/// Measures from its construction. One at a time in a process, because there is one peak.
class ResidentPeak {
 public:
  ResidentPeak();

  /// The peak since construction, minus the memory resident then; 0 if unknown.
  std::uint64_t growth_bytes() const;

 private:
  std::uint64_t before_bytes_;
};

}  // namespace forebay::bench::checkpoint
