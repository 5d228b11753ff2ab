// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/processors.hpp"

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace forebay::emufs {

namespace {

constexpr const char* kLatencyPath = "/dev/cpu_dma_latency";
constexpr std::int32_t kNone = 0;             ///< us that waking may take
constexpr std::int32_t kAny = 2'000'000'000;  ///< the kernel's default
constexpr model::Time kLinger = std::chrono::milliseconds(20);

bool demand(const Descriptor& latency, std::int32_t us) noexcept {
  return ::write(latency.get(), &us, sizeof us) == static_cast<ssize_t>(sizeof us);
}

}  // namespace

Result<Processors> Processors::open() {
  // What is opened has a demand already, the default one.
  Descriptor latency(::open(kLatencyPath, O_RDWR | O_CLOEXEC));
  if (!latency) {
    return failure(
        system_error({.operation = "keep processors awake through", .path = kLatencyPath}, errno));
  }
  return Processors(std::move(latency));
}

void Processors::use(model::Time now) noexcept {
  if (!latency_) return;
  if (!awake_) awake_ = demand(latency_, kNone);
  if (awake_) rest_at_ = now + kLinger;
}

void Processors::rest(model::Time now) noexcept {
  if (now < rest_at_) return;
  demand(latency_, kAny);
  awake_ = false;
  rest_at_ = model::Time::max();
}

model::Time Processors::next_rest() const noexcept { return rest_at_; }

}  // namespace forebay::emufs
