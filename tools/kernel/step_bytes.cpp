// SPDX-License-Identifier: Apache-2.0
#include "tools/kernel/step_bytes.hpp"

#include <algorithm>
#include <numeric>
#include <thread>

namespace forebay::kernel {

namespace {

/// Contiguous ranks, which one thread draws.
struct RankRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

/// Adds what these ranks write in an operation. Returns 0 unless a call exceeds a limit.
int add_bytes(const fk_kernel& kernel, std::uint32_t operation, RankRange ranks, StepBytes& steps) {
  fk_calls calls{};
  int outcome = 0;
  for (std::uint32_t step = 0; step < kernel.steps; ++step) {
    if (fk_is_due(&kernel, &kernel.operations[operation], step) == 0) continue;
    for (std::uint32_t rank = ranks.begin; rank < ranks.end; ++rank) {
      outcome |= fk_make_calls(&kernel, operation, rank, step, &calls);
      steps[step][rank] += calls.bytes;
    }
  }
  fk_free_calls(&calls);
  return outcome;
}

int add_all_bytes(const fk_kernel& kernel, RankRange ranks, StepBytes& steps) {
  int outcome = 0;
  for (std::uint32_t i = 0; i < kernel.operation_count; ++i) {
    if (kernel.operations[i].what == FK_WRITE) outcome |= add_bytes(kernel, i, ranks, steps);
  }
  return outcome;
}

}  // namespace

Result<StepBytes> step_bytes(const fk_kernel& kernel) {
  StepBytes steps(kernel.steps, std::vector<std::uint64_t>(kernel.writers));
  const std::uint32_t threads =
      std::clamp(std::thread::hardware_concurrency(), 1U, std::max(1U, kernel.writers / 1024));
  std::vector<int> outcomes(threads);
  {
    std::vector<std::jthread> workers;
    for (std::uint64_t i = 0; i < threads; ++i) {
      const RankRange ranks{static_cast<std::uint32_t>(i * kernel.writers / threads),
                            static_cast<std::uint32_t>((i + 1) * kernel.writers / threads)};
      workers.emplace_back([&, ranks, i] { outcomes[i] = add_all_bytes(kernel, ranks, steps); });
    }
  }
  if (std::ranges::any_of(outcomes, [](int outcome) { return outcome != 0; })) {
    return failure({.kind = ErrorClass::kInvalidArgument,
                    .operation = "draw the kernel",
                    .path = kernel.name,
                    .cause = "a call exceeds a limit; reduce its size or the number of calls"});
  }
  std::erase_if(steps, [](const auto& step) {
    return std::accumulate(step.begin(), step.end(), std::uint64_t{0}) == 0;
  });
  return steps;
}

}  // namespace forebay::kernel
