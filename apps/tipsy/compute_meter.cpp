// SPDX-License-Identifier: Apache-2.0
#include "tipsy/compute_meter.hpp"

#include <ctime>

namespace forebay::tipsy {

namespace {

std::int64_t thread_cpu_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  return now.tv_sec * kNanoseconds + now.tv_nsec;
}

}  // namespace

ComputeMeter::Spell::Spell(ComputeMeter& meter) noexcept
    : meter_(meter), start_cpu_ns_(thread_cpu_ns()) {
  if (!meter_.seen_.exchange(true)) meter_.first_ = Clock::now();
}

ComputeMeter::Spell::~Spell() {
  meter_.spent_cpu_ns_.fetch_add(thread_cpu_ns() - start_cpu_ns_, std::memory_order_relaxed);
}

double ComputeMeter::spent_cpu_s() const noexcept {
  return static_cast<double>(spent_cpu_ns_.load()) * 1e-9;
}

}  // namespace forebay::tipsy
