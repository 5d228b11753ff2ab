// SPDX-License-Identifier: Apache-2.0
#include "tipsy/cpu_timer.hpp"

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

CpuTimer::Scope::Scope(CpuTimer& meter) noexcept : meter_(meter), start_cpu_ns_(thread_cpu_ns()) {
  if (!meter_.has_started_.exchange(true)) meter_.first_start_ = Clock::now();
}

CpuTimer::Scope::~Scope() {
  meter_.cpu_time_ns_.fetch_add(thread_cpu_ns() - start_cpu_ns_, std::memory_order_relaxed);
}

double CpuTimer::cpu_time_s() const noexcept {
  return static_cast<double>(cpu_time_ns_.load()) * 1e-9;
}

}  // namespace forebay::tipsy
