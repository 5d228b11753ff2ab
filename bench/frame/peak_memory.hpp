// SPDX-License-Identifier: Apache-2.0
// Peak memory of a piece of work. Rss counts shared pages once for each process. Pss divides them,
// so its sum over processes is what the machine provided. The kernel keeps no peak of Pss, so it is
// sampled.
#pragma once

#include <forebay/error.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <sys/types.h>

namespace forebay::bench {

/// Present Pss of one process, in bytes (/proc/<pid>/smaps_rollup). Fails with kNotFound if the
/// process has ended.
Result<std::uint64_t> pss_bytes(pid_t process);

/// Samples the sum of Pss of some processes every 20 ms, from its creation until stop(). A thread
/// on the last processor that this process may use takes the samples.
class PeakMemory {
 public:
  /// `processes` empty: this one. A process that ends counts as 0 from then on. Fails if Pss cannot
  /// be read at all.
  static Result<std::unique_ptr<PeakMemory>> start(std::vector<pid_t> processes = {});
  ~PeakMemory();
  PeakMemory(const PeakMemory&) = delete;
  PeakMemory& operator=(const PeakMemory&) = delete;

  /// Takes a last sample, ends the thread and returns the peak in bytes. May be called again.
  std::uint64_t stop();

  /// How many samples were taken so far. Peaks between two of them may be missed.
  std::uint64_t samples() const noexcept;

 private:
  class Sampler;
  explicit PeakMemory(std::unique_ptr<Sampler> sampler);
  std::unique_ptr<Sampler> sampler_;
};

}  // namespace forebay::bench
