// SPDX-License-Identifier: Apache-2.0
#include "tools/emufs/cpu_latency.hpp"

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
constexpr model::Time kHoldTime = std::chrono::milliseconds(20);

bool write_latency(const Descriptor& latency, std::int32_t us) noexcept {
  return ::write(latency.get(), &us, sizeof us) == static_cast<ssize_t>(sizeof us);
}

}  // namespace

Result<CpuLatency> CpuLatency::open() {
  // A newly opened file has the default demand.
  Descriptor latency(::open(kLatencyPath, O_RDWR | O_CLOEXEC));
  if (!latency) {
    return failure(
        system_error({.operation = "keep processors awake through", .path = kLatencyPath}, errno));
  }
  return CpuLatency(std::move(latency));
}

void CpuLatency::keep_active(model::Time now) noexcept {
  if (!latency_) return;
  if (!is_active_) is_active_ = write_latency(latency_, kNone);
  if (is_active_) release_time_ = now + kHoldTime;
}

void CpuLatency::release_if_idle(model::Time now) noexcept {
  if (now < release_time_) return;
  write_latency(latency_, kAny);
  is_active_ = false;
  release_time_ = model::Time::max();
}

model::Time CpuLatency::next_release() const noexcept { return release_time_; }

}  // namespace forebay::emufs
