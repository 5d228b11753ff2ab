// SPDX-License-Identifier: Apache-2.0
#include "bench/checkpoint/computation.hpp"

#include <algorithm>

#include "bench/frame/clock.hpp"

namespace forebay::bench::checkpoint {

namespace {

constexpr std::size_t kMemoryWords = (64ULL << 20U) / sizeof(double);
constexpr std::size_t kWordsInUnit = (1ULL << 20U) / sizeof(double);
constexpr int kStepsInUnit = 100'000;
constexpr double kTrialSeconds = 0.02;

/// Keeps the compiler from removing the computation of a value.
void do_not_optimize(double value) { asm volatile("" : : "g"(value) : "memory"); }

}  // namespace

std::string_view name_of(ComputeKind compute_kind) noexcept {
  if (compute_kind == ComputeKind::kCpu) return "cpu";
  return compute_kind == ComputeKind::kMemory ? "memory" : "none";
}

Computation::Computation(ComputeKind compute_kind)
    : compute_kind_(compute_kind),
      memory_(compute_kind == ComputeKind::kMemory ? kMemoryWords : 0, 1.0) {}

void Computation::unit() {
  if (compute_kind_ == ComputeKind::kCpu) {
    for (int step = 0; step < kStepsInUnit; ++step)
      state_ = state_ * 0.999999 + 0.5;
    do_not_optimize(state_);
    return;
  }
  if (memory_.empty()) return;
  const auto begin = static_cast<std::size_t>(state_) * kWordsInUnit % kMemoryWords;
  for (std::size_t word = begin; word < begin + kWordsInUnit; ++word)
    memory_[word] = memory_[word] * 0.5 + 1.0;
  state_ += 1.0;
  do_not_optimize(memory_[begin]);
}

double Computation::run(std::uint64_t units) {
  const Stopwatch watch;
  for (std::uint64_t done = 0; done < units; ++done)
    unit();
  return watch.seconds();
}

std::uint64_t Computation::units_in(double seconds) {
  if (compute_kind_ == ComputeKind::kNone) return 0;
  std::uint64_t units = 1;
  double taken = run(units);
  while (taken < std::min(seconds, kTrialSeconds)) {
    units *= 2;
    taken = run(units);
  }
  return std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(static_cast<double>(units) * seconds / taken));
}

}  // namespace forebay::bench::checkpoint
