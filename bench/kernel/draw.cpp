// SPDX-License-Identifier: Apache-2.0
// The cost of one size of a kernel, at a rank and a step far from the first: draws need no history.
#include <array>
#include <cstdint>

#include "bench/frame/benchmark.hpp"
#include "bench/frame/clock.hpp"
#include "kernels/kernel.h"

namespace forebay::bench {

namespace {

constexpr const char* kId = "kernel.draw_us";
constexpr unsigned kRounds = 9;
constexpr double kMicroseconds = 1e6;
constexpr std::uint32_t kRank = 1'000'000;
constexpr std::uint32_t kStep = 10'000;

/// The families that cost most: rejection, and walkers just before a balance of 32 steps.
std::array<std::pair<const char*, fk_distribution>, 4> families() {
  fk_distribution walkers{.family = FK_WALKERS, .parameters = {64, 1000, 0.05, 0.05, 0}};
  walkers.balance = FK_BALANCE_MAX;
  return {{{"normal", {.family = FK_NORMAL, .parameters = {24e6, 6e6}}},
           {"exponential", {.family = FK_EXPONENTIAL, .parameters = {24e6, 0}}},
           {"gamma", {.family = FK_GAMMA, .parameters = {24e6, 6e6}}},
           {"walkers", walkers}}};
}

Result<double> time_draws(const fk_distribution& distribution, std::uint32_t count) {
  // The last step before a balance.
  constexpr std::uint32_t kLast = kStep / FK_BALANCE_MAX * FK_BALANCE_MAX - 1;
  double sum = 0;
  const Stopwatch watch;
  for (std::uint32_t i = 0; i < count; ++i) {
    const fk_draw_at at{.seed = 1, .stream = 0, .writer = kRank - i, .step = kLast, .call = 0};
    sum += fk_draw(&distribution, &at);
  }
  const double us = watch.seconds() * kMicroseconds / count;
  if (sum > 0) return us;
  return failure({.kind = ErrorClass::kDamage, .operation = "draw sizes"});
}

}  // namespace

FOREBAY_BENCHMARK(kernel, "I/O kernels: draws, fits, and the runner beside a loop by hand") {
  if (!context.is_selected(kId)) return {};
  const auto all = families();
  const auto count = context.choose<std::uint32_t>(20'000, 1000);
  std::vector<Variant> variants;
  for (const auto& [name, distribution] : all)
    variants.push_back(
        {name, {}, [&distribution, count] { return time_draws(distribution, count); }});
  const auto rounds = context.run(kId, kRounds, variants);
  if (!rounds) return failure(rounds.error());
  ResultRow row{kId, "us", {}, Goal{10}, {}};
  for (const auto& [name, distribution] : all) {
    const Summary found = rounds->summary(name);
    if (found.median > row.measured.median) row.measured = found;
    row.peers.push_back({name, "us", found});
  }
  context.add(std::move(row));
  return {};
}

}  // namespace forebay::bench
