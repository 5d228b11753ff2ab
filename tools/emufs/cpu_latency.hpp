// SPDX-License-Identifier: Apache-2.0
// Whether idle processors may halt. A halted processor takes 20 to 100 us to resume, a tenth of a
// request of 1 ms. For punctual replies, processors stay awake while requests wait, as in tests of
// real-time systems, at the cost of power.
#pragma once

#include <forebay/error.hpp>

#include "base/descriptor.hpp"
#include "model/storage_model.hpp"

namespace forebay::emufs {

/// Not thread-safe. Its destructor lets processors halt again.
class CpuLatency {
 public:
  /// Inactive: makes no request to the kernel, and processors halt by the kernel's defaults.
  CpuLatency() = default;
  /// Able to keep processors awake, by the kernel's /dev/cpu_dma_latency, which requires root.
  static Result<CpuLatency> open();

  /// A request waits at this moment: keeps processors awake until none has waited for 20 ms.
  void keep_active(model::Time now) noexcept;
  /// Lets processors halt if no request has waited for 20 ms.
  void release_if_idle(model::Time now) noexcept;
  /// When release_if_idle() has an effect next; Time::max() if never.
  model::Time next_release() const noexcept;

 private:
  explicit CpuLatency(Descriptor latency) : latency_(std::move(latency)) {}

  Descriptor latency_;
  bool is_active_ = false;
  model::Time release_time_ = model::Time::max();
};

}  // namespace forebay::emufs
