// SPDX-License-Identifier: Apache-2.0
// Keeping work on one core: a measurement of who disturbs whom has to say where each of them runs.
#pragma once

#include <forebay/error.hpp>

#include <memory>
#include <vector>

#include <sched.h>

namespace forebay::bench {

/// Those that the calling thread may use, ascending; empty if the system does not tell.
std::vector<unsigned> usable_cores();

/// Keeps the calling thread on one core as long as it lives, and for ever what is started
/// meanwhile: threads and processes inherit where they may run.
class OnCore {
 public:
  /// Fails if `core` is none of usable_cores().
  static Result<std::unique_ptr<OnCore>> take(unsigned core);
  /// On the thread that made it.
  ~OnCore();
  OnCore(const OnCore&) = delete;
  OnCore& operator=(const OnCore&) = delete;

 private:
  explicit OnCore(const cpu_set_t& before) noexcept : before_(before) {}
  cpu_set_t before_;
};

}  // namespace forebay::bench
