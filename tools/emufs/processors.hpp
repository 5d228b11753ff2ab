// SPDX-License-Identifier: Apache-2.0
// Whether processors may halt when they have nothing to do. One that has halted takes 20 to 100 us
// to come back, a tenth of a request of 1 ms; so who wants requests to be punctual keeps them awake
// while requests wait, as tests of real-time systems do, and pays in power.
#pragma once

#include <forebay/error.hpp>

#include "base/descriptor.hpp"
#include "model/storage_model.hpp"

namespace forebay::emufs {

/// Not for several threads at once. Processors may halt again when it is destroyed.
class Processors {
 public:
  /// Asks the kernel nothing: they halt as they like.
  Processors() = default;
  /// One that may keep them awake, by the kernel's /dev/cpu_dma_latency (root's).
  static Result<Processors> open();

  /// Somebody waits at this moment: they stay awake until nobody has for 20 ms.
  void use(model::Time now) noexcept;
  /// Lets them halt if nobody has waited for so long.
  void rest(model::Time now) noexcept;
  /// When rest() has something to do; Time::max() if never.
  model::Time next_rest() const noexcept;

 private:
  explicit Processors(Descriptor latency) : latency_(std::move(latency)) {}

  Descriptor latency_;
  bool awake_ = false;
  model::Time rest_at_ = model::Time::max();
};

}  // namespace forebay::emufs
