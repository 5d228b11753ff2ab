// SPDX-License-Identifier: Apache-2.0
// Pins work to a core: a measurement of interference must define where each part runs.
#pragma once

#include <forebay/error.hpp>

#include <memory>
#include <vector>

#include <sched.h>

namespace forebay::bench {

/// Cores that the calling thread may use, ascending; empty if the system does not report them.
std::vector<unsigned> usable_cores();

/// Pins the calling thread to one core while it exists. Threads and processes started meanwhile
/// inherit the affinity and keep it.
class ScopedAffinity {
 public:
  /// Fails if `core` is not in usable_cores().
  static Result<std::unique_ptr<ScopedAffinity>> pin(unsigned core);
  /// Call it on the thread that created it.
  ~ScopedAffinity();
  ScopedAffinity(const ScopedAffinity&) = delete;
  ScopedAffinity& operator=(const ScopedAffinity&) = delete;

 private:
  explicit ScopedAffinity(const cpu_set_t& before) noexcept : saved_mask_(before) {}
  cpu_set_t saved_mask_;
};

}  // namespace forebay::bench
