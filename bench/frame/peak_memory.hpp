// SPDX-License-Identifier: Apache-2.0
// The most memory a piece of work really needed. Rss counts shared pages once for each process and
// misses nothing else's share; Pss, summed over processes, is what the machine gave. The kernel
// keeps no peak of it, so we sample.
#pragma once

#include <forebay/error.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <sys/types.h>

namespace forebay::bench {

/// Pss of one process now, in bytes (/proc/<pid>/smaps_rollup). Fails with kNotFound for a process
/// that is gone.
Result<std::uint64_t> pss_bytes(pid_t process);

/// Samples the sum of Pss of some processes from its making until stop(), every 20 ms, from a
/// thread of its own on the last processor that this process may use.
class PeakMemory {
 public:
  /// `processes` empty: this one. A process that ends while it is watched counts as 0 from then on.
  /// Fails if Pss cannot be read at all.
  static Result<std::unique_ptr<PeakMemory>> start(std::vector<pid_t> processes = {});
  ~PeakMemory();
  PeakMemory(const PeakMemory&) = delete;
  PeakMemory& operator=(const PeakMemory&) = delete;

  /// Takes a last sample, ends the thread and returns the peak. May be called again.
  std::uint64_t stop();

  /// How many samples were taken so far; what happened between two of them may be missed.
  std::uint64_t samples() const noexcept;

 private:
  class Sampler;
  explicit PeakMemory(std::unique_ptr<Sampler> sampler);
  std::unique_ptr<Sampler> sampler_;
};

}  // namespace forebay::bench
